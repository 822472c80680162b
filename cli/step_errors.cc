// SPDX-License-Identifier: Apache-2.0
#include "cli/step_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "cli/step_values.h"

namespace zoetrope::cli {
namespace {

void add(StepError& row, const std::vector<float>& values, const std::vector<float>& reference) {
  if (values.size() != reference.size()) {
    fail(ErrorCode::kInternal, "{}: {} values on one side, {} on the other; please report it",
         row.name, values.size(), reference.size());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = reference[i];
    const double error = std::abs(values[i] - expected);
    if (!std::isfinite(error)) {
      ++row.not_finite;
      continue;
    }
    row.squared_error += error * error;
    row.squared_reference += expected * expected;
    row.max_error = std::max(row.max_error, error);
    row.largest = std::max(row.largest, std::abs(expected));
  }
  row.values += static_cast<int64_t>(values.size());
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : part > 0 ? 1 : 0; }

}  // namespace

double StepError::rms() const {
  return values > 0 ? std::sqrt(squared_error / static_cast<double>(values)) : 0;
}

double StepError::relative_rms() const {
  return std::sqrt(ratio(squared_error, squared_reference));
}

double StepError::relative_max() const { return ratio(max_error, largest); }

void StepErrors::keep(const StepEvent& event) {
  for (const StepResult& result : event.results) {
    Kept& kept = kept_[std::string(result.name)];
    kept.kernel = event.kernel;
    read(result, kept.values);
  }
}

void StepErrors::compare(const StepEvent& event) {
  for (const StepResult& result : event.results) {
    const auto kept = kept_.find(result.name);
    if (kept == kept_.end()) {
      ++unmatched_;
      continue;
    }
    StepError& row = row_of(event, result);
    row.reference_kernel = kept->second.kernel;
    read(result, values_);
    add(row, values_, kept->second.values);
    kept_.erase(kept);
  }
}

void StepErrors::end_push() {
  unmatched_ += static_cast<int64_t>(kept_.size());
  kept_.clear();
}

StepError& StepErrors::row_of(const StepEvent& event, const StepResult& result) {
  const std::string key = fmt::format("{} {}", event.entry, result.name);
  const auto [found, fresh] = index_.try_emplace(key, rows_.size());
  if (fresh) {
    rows_.push_back({.entry = std::string(event.entry),
                     .name = std::string(result.name),
                     .kernel = std::string(event.kernel),
                     .reference_kernel = {},
                     .shape = result.shape});
  }
  return rows_[found->second];
}

}  // namespace zoetrope::cli
