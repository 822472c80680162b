// SPDX-License-Identifier: Apache-2.0
#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace zoetrope {
namespace {

std::optional<int64_t> count_of(const std::vector<int64_t>& shape) {
  return checked_element_count(shape);
}

TEST(CheckedMath, AddsAndMultipliesUpToTheLimits) {
  EXPECT_EQ(checked_add(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_add(INT64_MIN + 1, -1), INT64_MIN);
  EXPECT_EQ(checked_multiply(INT64_MAX / 2, 2), INT64_MAX - 1);
}

TEST(CheckedMath, IsEmptyOnOverflow) {
  EXPECT_FALSE(checked_add(INT64_MAX, 1));
  EXPECT_FALSE(checked_add(INT64_MIN, -1));
  EXPECT_FALSE(checked_multiply(INT64_MAX / 2 + 1, 2));
  EXPECT_FALSE(checked_multiply(INT64_MIN, -1));
}

TEST(CheckedMath, CountsElements) {
  EXPECT_EQ(count_of({}), 1);
  EXPECT_EQ(count_of({3, 5, 7}), 105);
  EXPECT_EQ(count_of({3, 0, 7}), 0);
}

TEST(CheckedMath, RefusesNegativeExtentsAndOverflow) {
  EXPECT_FALSE(count_of({3, -1}));
  EXPECT_FALSE(count_of({0, -1}));
  EXPECT_FALSE(count_of({int64_t{1} << 32, int64_t{1} << 31}));
  // Strides are products of the extents too, so a zero does not make the others harmless.
  EXPECT_FALSE(count_of({0, int64_t{1} << 62, int64_t{1} << 62}));
}

TEST(CheckedMath, RoundsUp) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
}

}  // namespace
}  // namespace zoetrope
