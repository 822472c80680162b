// SPDX-License-Identifier: Apache-2.0
#include "base/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace zoetrope {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t find_in(const std::vector<float>& values) {
  return find_not_finite(values.data(), static_cast<int64_t>(values.size()));
}

TEST(Finite, EveryFiniteValuePasses) {
  EXPECT_EQ(find_in({}), -1);
  EXPECT_EQ(find_in({0, -0.0F, 1e-45F, -3e38F, std::numeric_limits<float>::max()}), -1);
}

TEST(Finite, TheFirstBadValueIsFoundAnywhere) {
  for (const float bad : {std::nanf(""), -std::nanf(""), kInfinity, -kInfinity}) {
    for (const size_t at : {0U, 1U, 4095U, 4096U, 9999U}) {
      std::vector<float> values(10'000, 1);
      values[at] = bad;
      values.back() = bad;
      EXPECT_EQ(find_in(values), static_cast<int64_t>(at));
    }
  }
}

}  // namespace
}  // namespace zoetrope
