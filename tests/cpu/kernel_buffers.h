// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs for kernel tests, in the type of a kernel's operands.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace zoetrope {

// Uniform in [-1, 1].
inline std::vector<float> random_floats(int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = uniform(random);
  return values;
}

inline std::vector<float> rounded_to(DType dtype, std::vector<float> values) {
  for (float& value : values) {
    store_from_float(&value, dtype, 0, value);
    value = load_as_float(&value, dtype, 0);
  }
  return values;
}

// Values in `dtype`, in memory exactly as long as they are, so that AddressSanitizer sees what is
// read beyond.
class TypedArray {
 public:
  TypedArray(DType dtype, std::span<const float> values)
      : bytes_(values.size() * static_cast<size_t>(size_of(dtype))) {
    for (size_t i = 0; i < values.size(); ++i) {
      store_from_float(bytes_.data(), dtype, static_cast<int64_t>(i), values[i]);
    }
  }
  // Null if empty.
  const void* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

// An output that starts as NaN between two guard zones.
class GuardedArray {
 public:
  GuardedArray(DType dtype, int64_t size)
      : dtype_(dtype),
        size_(size),
        bytes_(static_cast<size_t>(2 * kGuard + size * size_of(dtype)), kCanary) {
    std::memset(data(), 0xff, static_cast<size_t>(size * size_of(dtype)));
  }

  void* data() { return bytes_.data() + kGuard; }
  float* floats() { return static_cast<float*>(data()); }  // of float32
  void fill(std::span<const float> values) {
    for (int64_t i = 0; i < size_; ++i) {
      store_from_float(data(), dtype_, i, values[static_cast<size_t>(i)]);
    }
  }
  std::vector<float> values() const {
    std::vector<float> values(static_cast<size_t>(size_));
    convert_to_float(bytes_.data() + kGuard, dtype_, size_, values.data());
    return values;
  }
  bool guards_hold() const {
    const auto is_canary = [](std::byte value) { return value == kCanary; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_canary) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), is_canary);
  }

 private:
  static constexpr int64_t kGuard = 256;
  static constexpr std::byte kCanary{0xa5};
  DType dtype_;
  int64_t size_;
  std::vector<std::byte> bytes_;
};

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// How far a value within `error` of `expected` may be from it once it is rounded to `dtype`:
// float32 counts as no rounding. bfloat16 has 8 significant bits, and 2^-133 is its smallest step.
inline double rounded_error(DType dtype, double expected, double error) {
  if (dtype == DType::kFloat32) return error;
  return error + (std::abs(expected) + error) * 0x1p-8 + 0x1p-134;
}

}  // namespace zoetrope
