// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/report.h"
#include "cli/standard_streams.h"

namespace zoetrope::cli {
namespace {

using std::chrono::milliseconds;

milliseconds interval(ProgressKind kind) {
  switch (kind) {
    case ProgressKind::kBar:
      return milliseconds(100);
    case ProgressKind::kJson:
      return milliseconds(1'000);
    default:
      return milliseconds(10'000);
  }
}

int terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::min<int>(size.ws_col, 120) : 80;
}

// "7:05" or "1:07:05"
std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 3.6e6)));
  if (whole >= 3'600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3'600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(ProgressKind kind) : kind_(kind) {
  if (kind_ == ProgressKind::kAuto) {
    kind_ = isatty(STDERR_FILENO) != 0 ? ProgressKind::kBar : ProgressKind::kNone;
  }
}

Progress::~Progress() { clear(); }

void Progress::start(const std::string& task, const char* unit, std::optional<int64_t> total) {
  task_ = task;
  unit_ = unit;
  total_ = total;
  done_ = 0;
  running_ = true;
  started_ = Clock::now();
  written_ = started_;
}

void Progress::show(double done) {
  if (kind_ == ProgressKind::kNone || !running_) return;
  done_ = std::max(done_, done);
  if (Clock::now() - written_ >= interval(kind_)) write();
}

void Progress::finish() {
  if (!running_) return;
  if (kind_ == ProgressKind::kLines || kind_ == ProgressKind::kJson) write();
  clear();
  running_ = false;
}

void Progress::clear() {
  if (!visible_) return;
  write_stderr("\r\033[K");
  visible_ = false;
}

void Progress::write() {
  written_ = Clock::now();
  const double seconds = std::chrono::duration<double>(written_ - started_).count();
  const double rate = seconds > 0 ? done_ / seconds : 0;
  if (kind_ == ProgressKind::kBar) {
    write_bar(rate);
    return;
  }
  const auto done = static_cast<int64_t>(done_);
  const bool timed = total_ && rate > 0;
  const double left = timed ? std::max(0.0, static_cast<double>(*total_) - done_) / rate : 0;
  if (kind_ == ProgressKind::kLines) {
    const std::string total = total_ ? fmt::format(" of {}", *total_) : "";
    const std::string eta = timed ? ", " + clock_text(left) + " left" : "";
    write_stderr(
        fmt::format("{}: {}{} {}, {:.2f} a second{}\n", task_, done, total, unit_, rate, eta));
    return;
  }
  nlohmann::ordered_json line = {{"task", task_}, {"unit", unit_}, {"done", done}};
  line["total"] = total_ ? nlohmann::ordered_json(*total_) : nlohmann::ordered_json();
  line["rate"] = rate;
  line["seconds_left"] = timed ? nlohmann::ordered_json(left) : nlohmann::ordered_json();
  write_stderr(json_line(line) + "\n");
}

// clip.mp4 [=======>        ]  45 %  8/17 frames  1.42/s  0:06 left
void Progress::write_bar(double rate) {
  const double total = total_ ? static_cast<double>(*total_) : 0;
  const auto done = static_cast<int64_t>(done_);
  std::string right =
      total_ ? fmt::format("{}/{} {}", done, *total_, unit_) : fmt::format("{} {}", done, unit_);
  if (rate > 0) right += fmt::format("  {:.2f}/s", rate);
  if (rate > 0 && total_) {
    right += fmt::format("  {} left", clock_text(std::max(0.0, total - done_) / rate));
  }
  const int width = terminal_width() - 1;
  std::string left = task_;
  const auto longest = static_cast<size_t>(std::max(8, width / 3));
  if (left.size() > longest) left = "..." + left.substr(left.size() - longest + 3);

  const int room = width - static_cast<int>(left.size() + right.size()) - 12;
  std::string bar;
  if (total > 0 && room >= 8) {
    const double share = std::clamp(done_ / total, 0.0, 1.0);
    const int filled = static_cast<int>(share * room);
    bar = fmt::format(" [{:=<{}}{:>{}}] {:3.0f} % ", "", filled, filled < room ? ">" : "",
                      filled < room ? 1 : 0, share * 100);
    if (filled + 1 < room) bar.insert(bar.find(']'), static_cast<size_t>(room - filled - 1), ' ');
  }
  write_stderr(fmt::format("\r\033[K{}{} {}", left, bar, right));
  visible_ = true;
}

}  // namespace zoetrope::cli
