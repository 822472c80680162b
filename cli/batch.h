// SPDX-License-Identifier: Apache-2.0
// One input after another.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/inputs.h"
#include "cli/report.h"

namespace zoetrope::cli {

struct Work {
  // Called once, before the first input that needs work; what it throws ends the run.
  std::function<void()> prepare;
  // Codes one input; input, output and status of the result are filled in.
  std::function<Outcome(const Job&)> code;
};

// Returns the exit status. Throws what ends the run.
int run_jobs(const Jobs& jobs, const Work& work, Report& report);

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
