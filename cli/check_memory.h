// SPDX-License-Identifier: Apache-2.0
// Whether check has the memory for what it compares.
#pragma once

#include <cstdint>

#include "cli/options.h"
#include "cli/ways.h"

namespace zoetrope::cli {

// Throws kOutOfMemory if models, Streams and the values that wait to be compared need more than
// this machine's memory for a video of this size. Reads no weights.
void check_memory(const Options& options, const Ways& ways, int64_t height, int64_t width);

}  // namespace zoetrope::cli
