// SPDX-License-Identifier: Apache-2.0
// What ran when.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/step_profile.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

struct TimedStep {
  std::string entry;
  std::string name;
  std::string op;
  std::string kernel;
  std::string layer;  // layer_name()
  StepKind kind = StepKind::kOther;
  double start = 0;  // seconds since the run began
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  int64_t memory = 0;  // StepEvent::memory

  double end() const { return start + seconds; }
};

// Consecutive steps of one walk through an entry, [first, last), with the copies around it.
struct EntryRun {
  std::string entry;
  size_t first = 0;
  size_t last = 0;
};

class Timeline {
 public:
  // Forgets everything; time 0 is now.
  void begin();

  // A step that has just ended.
  void add(const StepEvent& event);

  const std::vector<TimedStep>& steps() const { return steps_; }
  std::vector<EntryRun> runs() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now();
  std::vector<TimedStep> steps_;
};

}  // namespace zoetrope::cli
