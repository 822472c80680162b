// SPDX-License-Identifier: Apache-2.0
// NaN and infinity among many values.
#pragma once

#include <cstdint>

namespace zoetrope {

// Index of the first value that is NaN or infinite, or -1. As fast as memory is read.
int64_t find_not_finite(const float* values, int64_t count);

}  // namespace zoetrope
