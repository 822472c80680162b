// SPDX-License-Identifier: Apache-2.0
// A profile beside an earlier one: --baseline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/earlier_result.h"
#include "cli/step_profile.h"

namespace zoetrope::cli {

// Seconds of one step in one run; empty on the side that has no such step.
struct StepChange {
  std::string name;
  std::optional<double> before;
  std::optional<double> now;

  double difference() const { return now.value_or(0) - before.value_or(0); }
};

struct ProfileChanges {
  StepChange total;
  std::vector<StepChange> steps;  // the largest difference first
};

// Throws kIo if the earlier result has no steps with seconds.
ProfileChanges changes_since(const EarlierResult& earlier, const StepProfile& profile);

// "1.50 ▲ faster": now over before.
std::string change_text(const StepChange& change);

// The first `count` steps, as a table.
std::string changes_table(const ProfileChanges& changes, const EarlierResult& earlier,
                          size_t count);

}  // namespace zoetrope::cli
