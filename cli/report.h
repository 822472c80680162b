// SPDX-License-Identifier: Apache-2.0
// Everything that is said to the user.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/compare.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "media/quality.h"
#include "zoetrope/error.h"
#include "zoetrope/stream.h"

namespace zoetrope::cli {

// `text` without line breaks and other control characters.
std::string one_line(std::string_view text);

// `object` without line breaks. Names of files need not be UTF-8: what is not is replaced.
std::string json_line(const nlohmann::ordered_json& object);

// "zoetrope: <message>" on standard error.
void print_error(std::string_view message);

enum class Status : uint8_t { kDone, kSkipped, kFailed };

// What became of one input.
struct Outcome {
  Status status = Status::kDone;
  std::string input;
  std::string output;
  int64_t frames = 0;  // of the video, without padding
  int64_t height = 0;
  int64_t width = 0;
  int64_t latent_frames = 0;
  double seconds = 0;
  std::optional<media::Quality> quality;
  std::optional<Comparison> comparison;
  // Of what was made, counted before padding is cut off; none if all are in frames that were.
  // Frames are those of the output: latent ones if it holds latents.
  NotFinite not_finite;
  bool latents = false;  // the output holds latents
  std::string error;
};

class Report {
 public:
  // `stdout_taken`: a video goes there, so that everything else goes to standard error.
  Report(const Options& options, bool stdout_taken);

  Progress& progress() { return progress_; }

  // "note: <text>": something that was assumed, changed or left out. Not twice in a row.
  void note(const std::string& text);

  // The error of an input that does not stop the others.
  void error(std::string_view message);

  void outcome(const Outcome& outcome);

  // One line at the end of many inputs.
  void summary();

  int failed() const { return failed_; }
  bool different() const { return different_; }

 private:
  void print(const std::string& line);

  bool quiet_;
  bool json_;
  bool stdout_taken_;
  Progress progress_;
  std::string last_note_;
  int done_ = 0;
  int skipped_ = 0;
  int failed_ = 0;
  bool different_ = false;
};

}  // namespace zoetrope::cli
