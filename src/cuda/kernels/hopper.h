// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zoetrope::cuda {

// Multiprocessors of the largest Hopper: what work is divided for, whichever it runs on.
inline constexpr int64_t kHopperProcessors = 132;

}  // namespace zoetrope::cuda
