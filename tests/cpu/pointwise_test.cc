// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/pointwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/pointwise.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

constexpr double kUnit = 0x1p-24;  // the largest relative error of one rounding
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Pointwise : public testing::TestWithParam<cpu::PointwiseKernels> {
 protected:
  static DType dtype() { return GetParam().operands; }

  // Values that the type holds.
  std::vector<float> random(int64_t size, uint64_t seed) const {
    return rounded_to(dtype(), random_floats(size, seed));
  }

  std::vector<float> rms_norm(const std::vector<float>& x, const std::vector<float>& gamma,
                              bool silu, int threads = 2) const {
    const TypedArray typed_x(dtype(), x);
    GuardedArray y(dtype(), std::ssize(x));
    ThreadPool pool(threads);
    const int64_t channels = std::ssize(gamma);
    GetParam().rms_norm(typed_x.data(), gamma.data(), std::ssize(x) / channels, channels, silu,
                        y.data(), pool, {});
    EXPECT_TRUE(y.guards_hold());
    return y.values();
  }

  std::vector<float> silu(const std::vector<float>& x) const {
    const TypedArray typed_x(dtype(), x);
    GuardedArray y(dtype(), std::ssize(x));
    ThreadPool pool(2);
    GetParam().silu(typed_x.data(), std::ssize(x), y.data(), pool, {});
    EXPECT_TRUE(y.guards_hold());
    return y.values();
  }

  // Of a value that float32 would hold within `error`.
  void expect_near(float value, double expected, double error, const std::string& what) const {
    ASSERT_NEAR(value, expected, rounded_error(dtype(), expected, error)) << what;
  }
};

// The sum of squares has positive terms: it is within channels u, its root within half of that,
// and 8 more roundings follow at most. SiLU's slope is below 1.1.
TEST_P(Pointwise, RmsNormMatchesTheDefinition) {
  uint64_t seed = 1;
  for (const int64_t channels : {1, 3, 8, 16, 17, 32, 50, 96, 384}) {
    for (const int64_t pixels : {1, 5, 400}) {
      const std::vector<float> x = random(pixels * channels, ++seed);
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
        const std::string what =
            std::to_string(channels) + " channels, element " + std::to_string(i);
        expect_near(plain[index], expected, bound, what);
        expect_near(activated[index], reference::silu(expected),
                    1.1 * bound + reference::silu_error(expected), what);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Pointwise, RmsNormTakesZerosAndTinyPixels) {
  const std::vector<float> gamma(20, 1.0F);
  EXPECT_THAT(rms_norm(std::vector<float>(20), gamma, false), testing::Each(0.0F));
  // |x| = 1e-20 sqrt(20) is below 1e-12: y = x / 1e-12 * sqrt(20).
  const std::vector<float> tiny = rounded_to(dtype(), std::vector<float>(20, 1e-20F));
  const double expected = double{tiny[0]} * 1e12 * std::sqrt(20.0);
  for (const float y : rms_norm(tiny, gamma, false)) expect_near(y, expected, 1e-13, "tiny");
}

TEST_P(Pointwise, RmsNormPropagatesNaNWithinItsPixel) {
  const std::vector<float> gamma(20, 1.0F);
  std::vector<float> x = random(60, 2);
  x[25] = std::nanf("");
  const std::vector<float> y = rms_norm(x, gamma, true);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 1) << i;
}

TEST_P(Pointwise, RmsNormGivesTheSameBitsForAnyCut) {
  const std::vector<float> gamma = random_floats(50, 3);
  const std::vector<float> x = random(2000 * 50, 4);
  const std::vector<float> whole = rms_norm(x, gamma, true, 1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(rms_norm(x, gamma, true, threads), whole));
  }
  const std::vector<float> last(x.end() - 50, x.end());
  EXPECT_TRUE(same_bits(rms_norm(last, gamma, true), std::span(whole).last(50)));
}

TEST_P(Pointwise, RmsNormMayOverwriteItsInput) {
  const std::vector<float> gamma = random_floats(33, 5);
  const std::vector<float> x = random(7 * 33, 6);
  GuardedArray in_place(dtype(), std::ssize(x));
  in_place.fill(x);
  ThreadPool pool(2);
  GetParam().rms_norm(in_place.data(), gamma.data(), 7, 33, true, in_place.data(), pool, {});
  EXPECT_TRUE(same_bits(in_place.values(), rms_norm(x, gamma, true)));
}

TEST_P(Pointwise, SiluMatchesTheDefinition) {
  std::vector<float> x;
  for (float value = -120; value < 120; value += 0.0137F) x.push_back(value);
  for (float value = 1e-45F; value < 1e38F; value *= 3) x.insert(x.end(), {value, -value});
  for (const float value : {0.0F, 1e-8F, 88.0F, 89.0F, 104.0F}) x.insert(x.end(), {value, -value});
  x = rounded_to(dtype(), std::move(x));
  const std::vector<float> y = silu(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    expect_near(y[i], reference::silu(value), reference::silu_error(value), std::to_string(value));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Pointwise, SiluOfNonNumbersIsWhatTheFormulaGives) {
  const std::vector<float> y = silu({kInfinity, -kInfinity, std::nanf("")});
  EXPECT_EQ(y[0], kInfinity);
  EXPECT_TRUE(std::isnan(y[1]));  // -inf * 0, as in PyTorch
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST_P(Pointwise, SiluDependsOnNoNeighbour) {
  const std::vector<float> x = random(40000, 7);
  const std::vector<float> whole = silu(x);
  for (const size_t index : {size_t{0}, size_t{17}, size_t{16383}, size_t{39999}}) {
    EXPECT_TRUE(same_bits(silu({x[index]}), std::span(whole).subspan(index, 1)));
  }
}

TEST_P(Pointwise, AddsAndRoundsOnceInPlaceToo) {
  ThreadPool pool(3);
  for (const int64_t count : {1, 15, 17, 40000}) {
    const std::vector<float> x = random(count, 8);
    const std::vector<float> residual = random(count, 9);
    std::vector<float> sums;
    for (size_t i = 0; i < x.size(); ++i) sums.push_back(x[i] + residual[i]);
    sums = rounded_to(dtype(), std::move(sums));
    const TypedArray typed_x(dtype(), x), typed_residual(dtype(), residual);
    GuardedArray y(dtype(), count);
    GetParam().add(typed_x.data(), typed_residual.data(), count, y.data(), pool, {});
    EXPECT_TRUE(y.guards_hold());
    EXPECT_TRUE(same_bits(y.values(), sums));
    GuardedArray in_place(dtype(), count);
    in_place.fill(residual);
    GetParam().add(typed_x.data(), in_place.data(), count, in_place.data(), pool, {});
    EXPECT_TRUE(same_bits(in_place.values(), sums));
  }
}

// Every bfloat16 plus what lies at, just below and just above the middle to the next one: stored
// as base/dtype.h rounds.
TEST_P(Pointwise, RoundsToNearestAndTiesToEven) {
  if (dtype() != DType::kBFloat16) GTEST_SKIP() << "float32 is stored as it is";
  std::vector<float> x, residual;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bfloat16_to_float(static_cast<uint16_t>(bits));
    for (const float part : {0.5F, 0.4980469F, 0.5019531F, 0.0F}) {
      const float step = std::abs(value) * 0x1p-7F * part;  // a last place's, for powers of 2
      x.push_back(value);
      residual.push_back(bfloat16_to_float(float_to_bfloat16(step)));
    }
  }
  const TypedArray typed_x(dtype(), x), typed_residual(dtype(), residual);
  GuardedArray y(dtype(), std::ssize(x));
  ThreadPool pool(2);
  GetParam().add(typed_x.data(), typed_residual.data(), std::ssize(x), y.data(), pool, {});
  const std::vector<float> values = y.values();
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = bfloat16_to_float(float_to_bfloat16(x[i] + residual[i]));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(values[i])) << x[i];
    } else {
      ASSERT_TRUE(same_bits({&values[i], 1}, {&expected, 1})) << x[i] << " + " << residual[i];
    }
  }
}

TEST_P(Pointwise, StopsWhenCancelled) {
  ThreadPool pool(2);
  float x = 1;  // or two bfloat16
  const LoopControl control = {.cancelled = [] { return true; }};
  EXPECT_THROW(GetParam().silu(&x, 1, &x, pool, control), Error);
  EXPECT_THROW(GetParam().add(&x, &x, 1, &x, pool, control), Error);
  EXPECT_THROW(GetParam().rms_norm(&x, &x, 1, 1, false, &x, pool, control), Error);
  EXPECT_EQ(x, 1);
}

std::string target_name(const testing::TestParamInfo<cpu::PointwiseKernels>& row) {
  return "target_" + std::to_string(row.param.target) + "_" +
         std::string(name_of(row.param.operands));
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
  GuardedArray y(DType::kFloat32, 4 * std::ssize(x));
  ThreadPool pool(2);
  cpu::upsample_nearest(x.data(), kFrames, kHeight, kWidth, kChannels * 4, y.data(), pool, {});
  EXPECT_TRUE(y.guards_hold());
  for (int64_t i = 0; i < 4 * std::ssize(x); ++i) {
    const int64_t pixel = i / kChannels, column = pixel % (2 * kWidth);
    const int64_t row = pixel / (2 * kWidth) % (2 * kHeight);
    const int64_t frame = pixel / (2 * kWidth) / (2 * kHeight);
    const int64_t from = ((frame * kHeight + row / 2) * kWidth + column / 2) * kChannels;
    ASSERT_EQ(y.floats()[i], x[static_cast<size_t>(from + i % kChannels)]) << i;
  }
}

TEST(UpsampleNearest, CopiesPixelsOfAnyNumberOfBytes) {
  const std::array<uint8_t, 6> x = {1, 2, 3, 4, 5, 6};  // 1 x 2 pixels of 3 bytes
  std::array<uint8_t, 24> y = {};
  ThreadPool pool(1);
  cpu::upsample_nearest(x.data(), 1, 1, 2, 3, y.data(), pool, {});
  const std::array<uint8_t, 24> expected = {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6,
                                            1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6};
  EXPECT_EQ(y, expected);
}

TEST(FrameInterleave, GivesTheFirstHalfToTheEarlierFrame) {
  constexpr int64_t kFrames = 3, kPixels = 11, kChannels = 5;
  const std::vector<float> x = counting(kFrames * kPixels * 2 * kChannels);
  GuardedArray y(DType::kFloat32, std::ssize(x));
  ThreadPool pool(2);
  cpu::frame_interleave(x.data(), kFrames, kPixels, kChannels * 4, y.data(), pool, {});
  EXPECT_TRUE(y.guards_hold());
  for (int64_t i = 0; i < std::ssize(x); ++i) {
    const int64_t channel = i % kChannels, pixel = i / kChannels % kPixels;
    const int64_t frame = i / kChannels / kPixels;
    const int64_t from =
        (frame / 2 * kPixels + pixel) * 2 * kChannels + frame % 2 * kChannels + channel;
    ASSERT_EQ(y.floats()[i], x[static_cast<size_t>(from)]) << i;
  }
}

TEST(Carry, KeepsTheLastFramesOfHistoryAndInput) {
  constexpr int64_t kFrame = 3;
  for (int64_t kept = 0; kept <= 3; ++kept) {
    for (int64_t frames = 1; frames <= 5; ++frames) {
      const std::vector<float> all = counting((kept + frames) * kFrame);
      GuardedArray history(DType::kFloat32, kept * kFrame);
      history.fill(all);
      cpu::carry(all.data() + kept * kFrame, frames, kFrame * 4, kept, history.data());
      EXPECT_TRUE(history.guards_hold());
      EXPECT_TRUE(
          same_bits(history.values(), std::span(all).last(static_cast<size_t>(kept * kFrame))))
          << kept << " kept, " << frames << " frames";
    }
  }
}

}  // namespace
}  // namespace zoetrope
