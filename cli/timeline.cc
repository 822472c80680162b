// SPDX-License-Identifier: Apache-2.0
#include "cli/timeline.h"

#include <algorithm>

namespace zoetrope::cli {

void Timeline::begin() {
  steps_.clear();
  begun_ = Clock::now();
}

void Timeline::add(const StepEvent& event) {
  const double now = std::chrono::duration<double>(Clock::now() - begun_).count();
  // A device's clock and this one may differ by less than a step.
  const double earliest = steps_.empty() ? 0 : steps_.back().end();
  const double start = std::max(earliest, now - event.seconds);
  steps_.push_back({.entry = std::string(event.entry),
                    .name = std::string(event.name),
                    .op = std::string(event.op),
                    .kernel = std::string(event.kernel),
                    .layer = layer_name(event),
                    .kind = kind_of(event),
                    .start = start,
                    .seconds = event.seconds,
                    .flops = event.flops,
                    .bytes = event.bytes,
                    .memory = event.memory});
}

std::vector<EntryRun> Timeline::runs() const {
  std::vector<EntryRun> runs;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].op == "copy_in" || runs.empty()) runs.push_back({steps_[i].entry, i, i});
    runs.back().last = i + 1;
  }
  return runs;
}

}  // namespace zoetrope::cli
