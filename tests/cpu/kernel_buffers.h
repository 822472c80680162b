// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs for kernel tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace zoetrope {

// Uniform in [-1, 1], exactly as long as asked for, so that AddressSanitizer sees what is read
// beyond.
inline std::vector<float> random_floats(int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = uniform(random);
  return values;
}

// An output that starts as NaN between two guard zones.
class GuardedFloats {
 public:
  explicit GuardedFloats(int64_t size) : floats_(static_cast<size_t>(size) + 2 * kGuard, kCanary) {
    std::ranges::fill(values(), std::numeric_limits<float>::quiet_NaN());
  }

  float* data() { return floats_.data() + kGuard; }
  std::span<float> values() { return {data(), floats_.size() - 2 * kGuard}; }
  bool guards_hold() const {
    const auto is_canary = [](float value) { return value == kCanary; };
    return std::all_of(floats_.begin(), floats_.begin() + kGuard, is_canary) &&
           std::all_of(floats_.end() - kGuard, floats_.end(), is_canary);
  }

 private:
  static constexpr int64_t kGuard = 64;
  static constexpr float kCanary = 12345.678F;
  std::vector<float> floats_;
};

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace zoetrope
