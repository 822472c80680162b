// SPDX-License-Identifier: Apache-2.0
// NaN and infinity among many values.
#pragma once

#include <cstdint>

namespace zoetrope {

// Counts NaN and infinity in values of which each has an index, several perhaps the same. All zero:
// none yet. Plain numbers, so that it can lie in a device's memory.
struct NotFiniteTally {
  uint64_t values = 0;
  uint64_t left = 0;  // kEnd - the first index with such a value; grows, as 0 is none

  static constexpr uint64_t kEnd = uint64_t{1} << 62;
};

// Index of the first value that is NaN or infinite, or -1. As fast as memory is read.
int64_t find_not_finite(const float* values, int64_t count);

}  // namespace zoetrope
