// SPDX-License-Identifier: Apache-2.0
// Where each buffer of a Plan lies, for one size of video and number of latent frames.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan.h"

namespace zoetrope::compiler {

struct MemoryLayout {
  std::vector<int64_t> offsets;  // by buffer: in the state memory if it is state, else in the arena
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
};

// Buffers of the arena that live at the same time never overlap. Throws kOutOfMemory if a buffer
// were larger than any machine's memory.
MemoryLayout memory_plan(const Plan& plan, int64_t n, int64_t height, int64_t width);

}  // namespace zoetrope::compiler
