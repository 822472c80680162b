// SPDX-License-Identifier: Apache-2.0
// One input after another.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "cli/compare.h"
#include "cli/inputs.h"
#include "cli/report.h"

namespace zoetrope::cli {

struct Work {
  // Called once, before the first input that needs work; what it throws ends the run.
  std::function<void()> prepare;
  // Codes one input; input and output of the result are filled in.
  std::function<Outcome(const Job&)> code;
  // What the output of a single input is compared with, and how strictly.
  std::optional<Reference> reference = {};
  double tolerance = 0;
};

// Returns the exit status. Throws what ends the run.
int run_jobs(const Jobs& jobs, const Work& work, Report& report);

// Of an input that is not coded, since its output could not match the reference.
Outcome unlike_reference(const Job& job, const Comparison& comparison);

// Seconds since it was made.
class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace zoetrope::cli
