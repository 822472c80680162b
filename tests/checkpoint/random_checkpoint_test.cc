// SPDX-License-Identifier: Apache-2.0
// That the values are the published ones is tested in golden_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "tests/base/refusal.h"

namespace zoetrope {
namespace {

std::vector<float> read(const std::string& name, std::vector<int64_t> shape, uint64_t seed = 0) {
  return random_checkpoint({{name, DType::kFloat32, std::move(shape)}}, seed, "random")->read(name);
}

// The upper 24 bits of the rule's z, as a value; both steps are exact.
float value_of(int32_t bits) { return static_cast<float>(2 * std::ldexp(bits, -24) - 1); }

TEST(RandomSequence, FollowsTheRule) {
  // Computed from the rule's text with integers of any size.
  EXPECT_EQ(RandomSequence("a", 0).at(0), value_of(6236610));
  EXPECT_EQ(RandomSequence("a", 0).at(1), value_of(16745713));
  EXPECT_EQ(RandomSequence("a", 1).at(0), value_of(15120478));
  EXPECT_EQ(RandomSequence("decoder.conv1.weight", 7).at(123456), value_of(13797688));
  EXPECT_EQ(RandomSequence("", UINT64_MAX).at(1099511627776), value_of(15831724));
}

TEST(RandomSequence, StaysInItsRangeAndFillsIt) {
  const RandomSequence sequence("range", 3);
  float low = 0;
  float high = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    low = std::min(low, sequence.at(i));
    high = std::max(high, sequence.at(i));
  }
  EXPECT_GE(low, -1.0F);
  EXPECT_LT(high, 1.0F);
  EXPECT_LT(low, -0.999F);
  EXPECT_GT(high, 0.999F);
}

TEST(RandomCheckpoint, ScalesByKindOfTensor) {
  const RandomSequence sequence("x.gamma", 5);
  EXPECT_EQ(read("x.gamma", {8, 1, 1}, 5)[3], 1 + 0.25F * sequence.at(3));
  EXPECT_EQ(read("x.bias", {8}, 5)[3], 0.1F * RandomSequence("x.bias", 5).at(3));
  const auto scale = static_cast<float>(std::sqrt(3.0 / (4 * 3 * 3)));
  EXPECT_EQ(read("x.weight", {2, 4, 3, 3}, 5)[17], scale * RandomSequence("x.weight", 5).at(17));
}

TEST(RandomCheckpoint, DependsOnNameAndSeed) {
  EXPECT_NE(read("a", {8}), read("b", {8}));
  EXPECT_NE(read("a", {8}, 0), read("a", {8}, 1));
  EXPECT_EQ(read("a", {8}, 1), read("a", {8}, 1));
}

TEST(RandomCheckpoint, SaysWhereItComesFrom) {
  const auto checkpoint = random_checkpoint({{"a", DType::kBFloat16, {2, 2}}}, 0, "random:8");
  EXPECT_EQ(checkpoint->format(), "random");
  EXPECT_EQ(checkpoint->source(), "random:8");
  EXPECT_EQ(checkpoint->tensors()[0].dtype, DType::kFloat32);
}

TEST(RandomCheckpoint, ReadsEmptyAndScalarTensors) {
  EXPECT_TRUE(read("a", {0, 3}).empty());
  EXPECT_EQ(read("a", {}).size(), 1U);
}

TEST(RandomCheckpoint, RefusesShapesThatFitNoMemory) {
  refusal(ErrorCode::kInvalidArgument, [] { return read("a", {2, -1}); });
  refusal(ErrorCode::kInvalidArgument, [] { return read("a", {int64_t{1} << 62}); });
}

}  // namespace
}  // namespace zoetrope
