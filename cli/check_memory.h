// SPDX-License-Identifier: Apache-2.0
// Whether check has the memory for what it compares.
#pragma once

#include "cli/check_clip.h"
#include "cli/options.h"
#include "cli/ways.h"

namespace zoetrope::cli {

// Throws kOutOfMemory if models, Streams, the values that wait to be compared and the clip need
// more than this machine's memory. Reads no weights and no frames.
void check_memory(const Options& options, const Ways& ways, const CheckpointDescription& model,
                  const CheckInput& input);

}  // namespace zoetrope::cli
