// SPDX-License-Identifier: Apache-2.0
// The pictures of a profile, as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/step_profile.h"
#include "cli/timeline.h"

namespace zoetrope::cli {

// Each step as a dot: arithmetic per byte against arithmetic per second, under the machine's
// limits. The first `numbered` of `steps` bear their number. Steps without counted arithmetic stand
// at the left edge, where their distance to the slope is that to the memory's speed.
std::string roofline_chart(const std::vector<Group>& steps, const Roofline& roofline,
                           size_t numbered);

// One lane for each kind of step, and below it the bytes that values hold. The first `numbered` of
// `steps` bear their number.
std::string timeline_chart(const Timeline& timeline, const EntryRun& run,
                           const std::vector<Group>& steps, size_t numbered);
std::string memory_chart(const Timeline& timeline, const EntryRun& run);

// Of the colours: a list.
std::string legend();

}  // namespace zoetrope::cli
