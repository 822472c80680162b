// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/standard_streams.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

double rate(const Outcome& outcome) {
  return outcome.seconds > 0 ? static_cast<double>(outcome.frames) / outcome.seconds : 0;
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kDone:
      return "done";
    case Status::kSkipped:
      return "skipped";
    case Status::kFailed:
      break;
  }
  return "failed";
}

std::string to_json(const Outcome& outcome) {
  Json line = {
      {"input", outcome.input}, {"output", outcome.output}, {"status", name_of(outcome.status)}};
  if (outcome.status == Status::kDone) {
    line["frames"] = outcome.frames;
    line["height"] = outcome.height;
    line["width"] = outcome.width;
    line["latent_frames"] = outcome.latent_frames;
    line["seconds"] = outcome.seconds;
    line["fps"] = rate(outcome);
    const NotFinite& bad = outcome.not_finite;
    line["not_finite"] = bad.values;
    line["not_finite_first_frame"] = bad.values > 0 ? Json(bad.first_frame) : Json();
  }
  if (outcome.quality) {
    line["psnr"] = finite(outcome.quality->psnr);
    line["ssim"] = finite(outcome.quality->ssim);
  }
  if (outcome.comparison) {
    const Comparison& comparison = *outcome.comparison;
    line["expect"] = {{"reference", comparison.reference},
                      {"max_abs_error", finite(comparison.max_error)},
                      {"max_abs_reference", finite(comparison.largest)},
                      {"rms_error", finite(comparison.rms_error)},
                      {"psnr", finite(comparison.psnr)},
                      {"tolerance", comparison.tolerance},
                      {"match", comparison.match},
                      {"problem", comparison.problem}};
  }
  if (!outcome.error.empty()) line["error"] = outcome.error;
  return json_line(line);
}

std::string to_text(const Outcome& outcome) {
  std::string text =
      fmt::format("{} -> {}: {} frame{} of {}x{} in {:.1f} s, {:.2f} frames/s", outcome.input,
                  outcome.output, outcome.frames, outcome.frames == 1 ? "" : "s", outcome.width,
                  outcome.height, outcome.seconds, rate(outcome));
  if (outcome.quality) {
    text +=
        fmt::format(", PSNR {:.2f} dB, SSIM {:.4f}", outcome.quality->psnr, outcome.quality->ssim);
  }
  if (outcome.comparison) {
    const Comparison& comparison = *outcome.comparison;
    if (!comparison.problem.empty()) {
      return fmt::format("{}\ndiffers from {}: {}", text, comparison.reference, comparison.problem);
    }
    text += fmt::format(
        "\n{} {}: largest error {:.3g}, {:.3g} allowed ({:.3g} of the largest value {:.4g}), rms "
        "error {:.3g}, PSNR {:.1f} dB",
        comparison.match ? "matches" : "differs from", comparison.reference, comparison.max_error,
        comparison.tolerance * comparison.largest, comparison.tolerance, comparison.largest,
        comparison.rms_error, comparison.psnr);
  }
  return text;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& letter : line) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) letter = ' ';
  }
  return line;
}

std::string json_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_error(std::string_view message) {
  write_stderr(fmt::format("zoetrope: {}\n", one_line(message)));
}

Report::Report(const Options& options, bool stdout_taken)
    : quiet_(options.quiet),
      json_(options.json),
      stdout_taken_(stdout_taken),
      progress_(options.quiet && options.progress == ProgressKind::kAuto ? ProgressKind::kNone
                                                                         : options.progress) {}

void Report::note(const std::string& text) {
  if (quiet_ || text == last_note_) return;
  last_note_ = text;
  progress_.clear();
  write_stderr(fmt::format("note: {}\n", one_line(text)));
}

void Report::error(std::string_view message) {
  progress_.clear();
  print_error(message);
}

void Report::outcome(const Outcome& outcome) {
  progress_.clear();
  if (outcome.not_finite.values > 0) {
    note(fmt::format(
        "{}: {} values came out NaN or infinite, the first in {} {}: --check-finite tells why",
        outcome.output, outcome.not_finite.values, outcome.latents ? "latent frame" : "frame",
        outcome.not_finite.first_frame));
  }
  if (outcome.status == Status::kDone) ++done_;
  if (outcome.status == Status::kSkipped) ++skipped_;
  if (outcome.status == Status::kFailed) ++failed_;
  if (outcome.comparison && !outcome.comparison->match) different_ = true;
  if (json_) {
    print(to_json(outcome));
  } else if (!quiet_ && outcome.status == Status::kDone) {
    print(to_text(outcome));
  }
}

void Report::summary() {
  if (quiet_ || json_) return;
  std::string text = fmt::format("{} done", done_);
  if (skipped_ > 0) text += fmt::format(", {} skipped: finished before, -y redoes them", skipped_);
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  print(text);
}

void Report::print(const std::string& line) {
  std::FILE* stream = stdout_taken_ ? stderr : stdout;
  std::fputs((line + "\n").c_str(), stream);
  std::fflush(stream);
}

}  // namespace zoetrope::cli
