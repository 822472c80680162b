// SPDX-License-Identifier: Apache-2.0
// How far the work is, on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.h"

namespace zoetrope::cli {

class Progress {
 public:
  // kAuto becomes a bar on a terminal, else nothing.
  explicit Progress(ProgressKind kind);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A new task of `total` units, if known: "frames" or "tensors".
  void start(const std::string& task, const char* unit, std::optional<int64_t> total);

  // Units done; parts of one make the bar move. Never goes back.
  void show(double done);

  // Ends the task: a last line or object, no bar.
  void finish();

  // Takes the bar off the terminal, so that a line may be written; the next show() brings it back.
  void clear();

 private:
  void write();
  void write_bar(double rate);

  using Clock = std::chrono::steady_clock;

  ProgressKind kind_;
  std::string task_;
  const char* unit_ = "frames";
  std::optional<int64_t> total_;
  double done_ = 0;
  bool running_ = false;
  bool visible_ = false;
  Clock::time_point started_;
  Clock::time_point written_;
};

}  // namespace zoetrope::cli
