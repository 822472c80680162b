// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes that come from files or callers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zoetrope {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Number of elements of `shape`; empty if an extent is negative or the product overflows.
inline std::optional<int64_t> checked_element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool zero = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      return std::nullopt;
    }
  }
  return zero ? 0 : count;
}

constexpr int64_t divide_up(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

}  // namespace zoetrope
