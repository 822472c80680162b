// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/pointwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/pointwise.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

constexpr double kUnit = 0x1p-24;  // the largest relative error of one rounding
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// SiLU is within 4 units in the last place; where e^-|x| or the result is subnormal, the last bit
// of each more.
double silu_tolerance(double x) {
  return 8 * kUnit * std::abs(reference::silu(x)) + (std::abs(x) + 1) * 0x1p-149;
}

class Pointwise : public testing::TestWithParam<cpu::PointwiseKernels> {
 protected:
  std::vector<float> rms_norm(const std::vector<float>& x, const std::vector<float>& gamma,
                              bool silu, int threads = 2) const {
    GuardedFloats y(std::ssize(x));
    ThreadPool pool(threads);
    const int64_t channels = std::ssize(gamma);
    GetParam().rms_norm(x.data(), gamma.data(), std::ssize(x) / channels, channels, silu, y.data(),
                        pool, {});
    EXPECT_TRUE(y.guards_hold());
    return {y.values().begin(), y.values().end()};
  }

  std::vector<float> silu(const std::vector<float>& x) const {
    GuardedFloats y(std::ssize(x));
    ThreadPool pool(2);
    GetParam().silu(x.data(), std::ssize(x), y.data(), pool, {});
    EXPECT_TRUE(y.guards_hold());
    return {y.values().begin(), y.values().end()};
  }
};

// The sum of squares has positive terms: it is within channels u, its root within half of that,
// and 8 more roundings follow at most. SiLU's slope is below 1.1.
TEST_P(Pointwise, RmsNormMatchesTheDefinition) {
  uint64_t seed = 1;
  for (const int64_t channels : {1, 3, 8, 16, 17, 32, 50, 96, 384}) {
    for (const int64_t pixels : {1, 5, 400}) {
      const std::vector<float> x = random_floats(pixels * channels, ++seed);
      const std::vector<float> gamma = random_floats(channels, ++seed);
      const std::vector<float> plain = rms_norm(x, gamma, false);
      const std::vector<float> activated = rms_norm(x, gamma, true);
      for (int64_t i = 0; i < std::ssize(x); ++i) {
        const auto index = static_cast<size_t>(i);
        const std::span pixel =
            std::span(x).subspan(static_cast<size_t>(i / channels * channels), gamma.size());
        const double expected =
            reference::rms_norm(pixel, gamma)[static_cast<size_t>(i % channels)];
        const double bound = (static_cast<double>(channels) / 2 + 8) * kUnit * std::abs(expected);
        ASSERT_NEAR(plain[index], expected, bound) << channels << " channels, element " << i;
        ASSERT_NEAR(activated[index], reference::silu(expected),
                    1.1 * bound + silu_tolerance(expected));
      }
    }
  }
}

TEST_P(Pointwise, RmsNormTakesZerosAndTinyPixels) {
  const std::vector<float> gamma(20, 1.0F);
  EXPECT_THAT(rms_norm(std::vector<float>(20), gamma, false), testing::Each(0.0F));
  // |x| = 1e-20 sqrt(20) is below 1e-12: y = x / 1e-12 * sqrt(20).
  EXPECT_THAT(rms_norm(std::vector<float>(20, 1e-20F), gamma, false),
              testing::Each(testing::FloatNear(4.472136e-8F, 1e-13F)));
}

TEST_P(Pointwise, RmsNormPropagatesNaNWithinItsPixel) {
  const std::vector<float> gamma(20, 1.0F);
  std::vector<float> x = random_floats(60, 2);
  x[25] = std::nanf("");
  const std::vector<float> y = rms_norm(x, gamma, true);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 1) << i;
}

TEST_P(Pointwise, RmsNormGivesTheSameBitsForAnyCut) {
  const std::vector<float> gamma = random_floats(50, 3);
  const std::vector<float> x = random_floats(2000 * 50, 4);
  const std::vector<float> whole = rms_norm(x, gamma, true, 1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(rms_norm(x, gamma, true, threads), whole));
  }
  const std::vector<float> last(x.end() - 50, x.end());
  EXPECT_TRUE(same_bits(rms_norm(last, gamma, true), std::span(whole).last(50)));
}

TEST_P(Pointwise, RmsNormMayOverwriteItsInput) {
  const std::vector<float> gamma = random_floats(33, 5);
  std::vector<float> x = random_floats(7 * 33, 6);
  const std::vector<float> y = rms_norm(x, gamma, true);
  ThreadPool pool(2);
  GetParam().rms_norm(x.data(), gamma.data(), 7, 33, true, x.data(), pool, {});
  EXPECT_TRUE(same_bits(x, y));
}

TEST_P(Pointwise, SiluMatchesTheDefinition) {
  std::vector<float> x;
  for (float value = -120; value < 120; value += 0.0137F) x.push_back(value);
  for (float value = 1e-45F; value < 1e38F; value *= 3) x.insert(x.end(), {value, -value});
  for (const float value : {0.0F, 1e-8F, 88.0F, 89.0F, 104.0F}) x.insert(x.end(), {value, -value});
  const std::vector<float> y = silu(x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], reference::silu(double{x[i]}), silu_tolerance(double{x[i]})) << x[i];
  }
}

TEST_P(Pointwise, SiluOfNonNumbersIsWhatTheFormulaGives) {
  const std::vector<float> y = silu({kInfinity, -kInfinity, std::nanf("")});
  EXPECT_EQ(y[0], kInfinity);
  EXPECT_TRUE(std::isnan(y[1]));  // -inf * 0, as in PyTorch
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST_P(Pointwise, SiluDependsOnNoNeighbour) {
  const std::vector<float> x = random_floats(40000, 7);
  const std::vector<float> whole = silu(x);
  for (const size_t index : {size_t{0}, size_t{17}, size_t{16383}, size_t{39999}}) {
    EXPECT_TRUE(same_bits(silu({x[index]}), std::span(whole).subspan(index, 1)));
  }
}

TEST_P(Pointwise, AddsExactlyInPlaceToo) {
  ThreadPool pool(3);
  for (const int64_t count : {1, 15, 17, 40000}) {
    const std::vector<float> x = random_floats(count, 8);
    std::vector<float> residual = random_floats(count, 9);
    GuardedFloats y(count);
    GetParam().add(x.data(), residual.data(), count, y.data(), pool, {});
    EXPECT_TRUE(y.guards_hold());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y.values()[i], x[i] + residual[i]);
    GetParam().add(x.data(), residual.data(), count, residual.data(), pool, {});
    EXPECT_TRUE(same_bits(residual, y.values()));
  }
}

TEST_P(Pointwise, StopsWhenCancelled) {
  ThreadPool pool(2);
  float x = 1;
  const LoopControl control = {.cancelled = [] { return true; }};
  EXPECT_THROW(GetParam().silu(&x, 1, &x, pool, control), Error);
  EXPECT_THROW(GetParam().add(&x, &x, 1, &x, pool, control), Error);
  EXPECT_THROW(GetParam().rms_norm(&x, &x, 1, 1, false, &x, pool, control), Error);
  EXPECT_EQ(x, 1);
}

std::string target_name(const testing::TestParamInfo<cpu::PointwiseKernels>& row) {
  return "target_" + std::to_string(row.param.target);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Pointwise,
                         testing::ValuesIn(cpu::pointwise_kernels().begin(),
                                           cpu::pointwise_kernels().end()),
                         target_name);

std::vector<float> counting(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(UpsampleNearest, RepeatsEachPixelTwiceEachWay) {
  constexpr int64_t kFrames = 2, kHeight = 3, kWidth = 5, kChannels = 7;
  const std::vector<float> x = counting(kFrames * kHeight * kWidth * kChannels);
  GuardedFloats y(4 * std::ssize(x));
  ThreadPool pool(2);
  cpu::upsample_nearest(x.data(), kFrames, kHeight, kWidth, kChannels, y.data(), pool, {});
  EXPECT_TRUE(y.guards_hold());
  for (int64_t i = 0; i < 4 * std::ssize(x); ++i) {
    const int64_t pixel = i / kChannels, column = pixel % (2 * kWidth);
    const int64_t row = pixel / (2 * kWidth) % (2 * kHeight);
    const int64_t frame = pixel / (2 * kWidth) / (2 * kHeight);
    const int64_t from = ((frame * kHeight + row / 2) * kWidth + column / 2) * kChannels;
    ASSERT_EQ(y.data()[i], x[static_cast<size_t>(from + i % kChannels)]) << i;
  }
}

TEST(FrameInterleave, GivesTheFirstHalfToTheEarlierFrame) {
  constexpr int64_t kFrames = 3, kPixels = 11, kChannels = 5;
  const std::vector<float> x = counting(kFrames * kPixels * 2 * kChannels);
  GuardedFloats y(std::ssize(x));
  ThreadPool pool(2);
  cpu::frame_interleave(x.data(), kFrames, kPixels, kChannels, y.data(), pool, {});
  EXPECT_TRUE(y.guards_hold());
  for (int64_t i = 0; i < std::ssize(x); ++i) {
    const int64_t channel = i % kChannels, pixel = i / kChannels % kPixels;
    const int64_t frame = i / kChannels / kPixels;
    const int64_t from =
        (frame / 2 * kPixels + pixel) * 2 * kChannels + frame % 2 * kChannels + channel;
    ASSERT_EQ(y.data()[i], x[static_cast<size_t>(from)]) << i;
  }
}

TEST(Carry, KeepsTheLastFramesOfHistoryAndInput) {
  constexpr int64_t kFrame = 3;
  for (int64_t kept = 0; kept <= 3; ++kept) {
    for (int64_t frames = 1; frames <= 5; ++frames) {
      const std::vector<float> all = counting((kept + frames) * kFrame);
      GuardedFloats history(kept * kFrame);
      std::copy_n(all.begin(), kept * kFrame, history.data());
      cpu::carry(all.data() + kept * kFrame, frames, kFrame, kept, history.data());
      EXPECT_TRUE(history.guards_hold());
      EXPECT_TRUE(
          same_bits(history.values(), std::span(all).last(static_cast<size_t>(kept * kFrame))))
          << kept << " kept, " << frames << " frames";
    }
  }
}

}  // namespace
}  // namespace zoetrope
