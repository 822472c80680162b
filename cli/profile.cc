// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench_rows.h"
#include "cli/commands.h"
#include "cli/measured_job.h"
#include "cli/model.h"
#include "cli/report.h"
#include "cli/result_file.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

// What the machine reaches at most.
struct Roofline {
  double flops = 0;  // per second
  double bytes = 0;  // per second
};

// Steps that share a row.
struct Group {
  std::string name;
  double calls = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  // (flops, bytes) of a step -> how often: a roofline holds for steps, not for their sum.
  std::map<std::pair<double, double>, double> works = {};

  void add(const StepEvent& event) {
    calls += 1;
    seconds += event.seconds;
    flops += event.flops;
    bytes += event.bytes;
    works[{event.flops, event.bytes}] += 1;
  }

  void add(const Group& other) {
    calls += other.calls;
    seconds += other.seconds;
    flops += other.flops;
    bytes += other.bytes;
    for (const auto& [work, count] : other.works) works[work] += count;
  }

  // Of one run, from the sums of `runs`.
  void divide(double runs) {
    for (double* sum : {&calls, &seconds, &flops, &bytes}) *sum /= runs;
    for (auto& [work, count] : works) count /= runs;
  }

  // Seconds that the roofline allows at least.
  double least(const Roofline& roofline) const {
    double sum = 0;
    for (const auto& [work, count] : works) {
      sum += count * std::max(work.first / roofline.flops, work.second / roofline.bytes);
    }
    return sum;
  }
};

std::string size_text(const ValueShape& shape) {
  return fmt::format("{}x{}", shape.width, shape.height);
}

// "conv3d_bf16_avx3 3x3x3 96->96 128x128": taps in time, rows and columns, channels, picture size.
std::string layer_name(const StepEvent& event) {
  std::string name(event.kernel);
  if (event.taps_time > 0) {
    name += fmt::format(" {}x{}x{}", event.taps_time, event.taps_height, event.taps_width);
  }
  name += fmt::format(" {}->{} {}", event.x.channels, event.y.channels, size_text(event.x));
  if (size_text(event.x) != size_text(event.y)) name += fmt::format("->{}", size_text(event.y));
  return name;
}

std::string row_name(const StepEvent& event, ProfileRow row) {
  switch (row) {
    case ProfileRow::kLayer:
      return layer_name(event);
    case ProfileRow::kKernel:
      return std::string(event.kernel);
    case ProfileRow::kStep:
      break;
  }
  return fmt::format("{} {} {}", event.entry, event.op, event.name);
}

// What an observer saw.
class Profile {
 public:
  explicit Profile(ProfileRow row) : row_(row) {}

  void add(const StepEvent& event) {
    const std::string name = row_name(event, row_);
    Group& group = groups_[name];
    group.name = name;
    group.add(event);
    (event.op == "conv" ? convs_ : others_).add(event);
  }

  // Forgets what was seen before the runs that count.
  void clear() { *this = Profile(row_); }

  // Averages over `runs`, which took `seconds` together.
  void finish(double seconds, double runs) {
    for (auto& [name, group] : groups_) {
      group.divide(runs);
      rows_.push_back(group);
    }
    convs_.divide(runs);
    others_.divide(runs);
    total_.add(convs_);
    total_.add(others_);
    outside_.seconds = seconds / runs - total_.seconds;
    total_.seconds = seconds / runs;
    std::ranges::stable_sort(rows_, std::greater(), &Group::seconds);
  }

  const std::vector<Group>& rows() const { return rows_; }
  std::vector<Group> summary() const { return {convs_, others_, outside_, total_}; }
  const Group& total() const { return total_; }

 private:
  ProfileRow row_;
  std::map<std::string, Group> groups_ = {};
  std::vector<Group> rows_ = {};  // the slowest first
  Group convs_ = {.name = "convs"};
  Group others_ = {.name = "other steps"};
  Group outside_ = {.name = "outside steps"};
  Group total_ = {.name = "total"};
};

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string table_line(const Group& group, const Profile& profile, const Roofline& roofline,
                       size_t width) {
  const double least = group.least(roofline);
  std::string line =
      fmt::format("{:<{}}{:>7.6g}{:>11.2f}{:>8.2f} %", group.name, width, group.calls,
                  group.seconds * 1e3, 100 * ratio(group.seconds, profile.total().seconds));
  if (group.calls == 0) return line + "\n";
  return line + fmt::format("{:>10.2f}{:>9.3f}{:>9.4f}{:>9.2f}{:>11.1f} %\n", group.flops / 1e9,
                            group.bytes / 1e9, ratio(group.flops, group.seconds) / 1e12,
                            ratio(group.bytes, group.seconds) / 1e9,
                            100 * ratio(least, group.seconds));
}

std::string table(const Profile& profile, const Roofline& roofline) {
  size_t width = 16;
  for (const Group& group : profile.rows()) width = std::max(width, group.name.size() + 1);
  std::string text =
      fmt::format("{:<{}}{:>7}{:>11}{:>10}{:>10}{:>9}{:>9}{:>9}{:>13}\n", "", width, "calls", "ms",
                  "share", "GFLOP", "GB", "TFLOP/s", "GB/s", "of roofline");
  for (const Group& group : profile.rows()) text += table_line(group, profile, roofline, width);
  text += "\n";
  for (const Group& group : profile.summary()) text += table_line(group, profile, roofline, width);
  return text;
}

Json to_json(const Group& group, const Profile& profile, const Roofline& roofline) {
  return {{"name", group.name},
          {"calls", group.calls},
          {"seconds", group.seconds},
          {"share", ratio(group.seconds, profile.total().seconds)},
          {"flops", group.flops},
          {"bytes", group.bytes},
          {"flops_per_second", ratio(group.flops, group.seconds)},
          {"bytes_per_second", ratio(group.bytes, group.seconds)},
          {"share_of_roofline", ratio(group.least(roofline), group.seconds)}};
}

Json to_json(const Profile& profile, const Roofline& roofline) {
  Json object = {{"rows", Json::array()}};
  for (const Group& group : profile.rows()) {
    object["rows"].push_back(to_json(group, profile, roofline));
  }
  const std::vector<Group> summary = profile.summary();
  size_t at = 0;
  for (const char* field : {"convs", "other_steps", "outside_steps", "total"}) {
    object[field] = to_json(summary[at++], profile, roofline);
  }
  return object;
}

void print_profile(const Options& options) {
  const MeasureOptions& asked = options.measure;
  ResultFile file(options);
  Report report(options, asked.json == "-");
  Profile profile(asked.row);
  MeasuredJob job(options, report, [&](const StepEvent& event) { profile.add(event); });

  const std::string title = job_title(job);
  for (int64_t i = 0; i < asked.warmup; ++i) job.run("warming up");
  profile.clear();
  std::vector<double> peaks = {job.measure_peak()};
  std::vector<double> copies = {job.measure_copies()};
  double seconds = 0;
  for (int64_t i = 0; i < asked.repetitions; ++i) {
    seconds += job.run(fmt::format("run {} of {}", i + 1, asked.repetitions)).seconds;
    peaks.push_back(job.measure_peak());
    copies.push_back(job.measure_copies());
  }
  profile.finish(seconds, static_cast<double>(asked.repetitions));

  const Roofline roofline = {.flops = median(peaks), .bytes = median(copies)};
  const double rate = job.arithmetic() / profile.total().seconds;
  std::string text = title;
  text += fmt::format("peak of {} {:.4f} TFLOP/s, memory {:.2f} GB/s\n\n", name_of(job.dtype()),
                      roofline.flops / 1e12, roofline.bytes / 1e9);
  text += table(profile, roofline);
  text +=
      fmt::format("\nThe published model's {:.6g} TFLOP: {:.4f} TFLOP/s, {:.1f} % of the peak\n",
                  job.arithmetic() / 1e12, rate / 1e12, 100 * rate / roofline.flops);
  if (!options.quiet) std::fputs(text.c_str(), file.table());

  Json context = result_context(options, job);
  context["model_flops"] = job.arithmetic();
  context["peak_flops_per_second"] = roofline.flops;
  context["copy_bytes_per_second"] = roofline.bytes;
  file.write({{"context", context}, {"profile", to_json(profile, roofline)}});
}

}  // namespace

int run_profile(const Options& options) {
  check_weights(options);
  run_interruptible([&] { print_profile(options); });
  return 0;
}

}  // namespace zoetrope::cli
