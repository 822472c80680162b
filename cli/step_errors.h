// SPDX-License-Identifier: Apache-2.0
// How far the values of one Plan's steps are from those of another's, matched by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zoetrope/tools.h"

namespace zoetrope::cli {

// One value, over all pushes through one entry.
struct StepError {
  std::string entry;
  std::string name;
  std::string kernel;            // that made it
  std::string reference_kernel;  // that made what it is compared with
  ValueShape shape;              // in one step
  int64_t values = 0;
  int64_t not_finite = 0;  // of either side's
  double squared_error = 0;
  double squared_reference = 0;
  double max_error = 0;
  double largest = 0;  // absolute value of the reference

  double rms() const;           // of the error
  double relative_rms() const;  // to the rms of the reference
  double relative_max() const;  // to `largest`
};

// Both Plans must see the same pushes, each first the reference, then what is compared with it.
class StepErrors {
 public:
  // Keeps what a step of the reference made.
  void keep(const StepEvent& event);

  // Compares what a step made with what the reference made under the same name.
  void compare(const StepEvent& event);

  // Forgets what was kept.
  void end_push();

  // In the order in which steps ran.
  const std::vector<StepError>& rows() const { return rows_; }

  // Names that only one of the Plans has: what the other one's steps make on the way.
  int64_t unmatched() const { return unmatched_; }

 private:
  struct Kept {
    std::string kernel;
    std::vector<float> values;
  };

  StepError& row_of(const StepEvent& event, const StepResult& result);

  std::map<std::string, Kept, std::less<>> kept_;
  std::map<std::string, size_t> index_;  // by entry and name
  std::vector<StepError> rows_;
  std::vector<float> values_;
  int64_t unmatched_ = 0;
};

}  // namespace zoetrope::cli
