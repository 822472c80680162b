// SPDX-License-Identifier: Apache-2.0
#include "base/finite.h"

#include <algorithm>
#include <bit>

namespace zoetrope {
namespace {

// A block is looked at as a whole, without branches, so that compilers use vector instructions.
constexpr int64_t kBlock = 4096;
constexpr uint32_t kMagnitude = 0x7fffffff;
constexpr uint32_t kInfinity = 0x7f800000;

bool is_finite(float value) { return (std::bit_cast<uint32_t>(value) & kMagnitude) < kInfinity; }

bool all_finite(const float* values, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & kMagnitude);
  }
  return largest < kInfinity;
}

}  // namespace

int64_t find_not_finite(const float* values, int64_t count) {
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t size = std::min(kBlock, count - done);
    if (all_finite(values + done, size)) continue;
    const float* first = values + done;
    return std::find_if_not(first, first + size, is_finite) - values;
  }
  return -1;
}

}  // namespace zoetrope
