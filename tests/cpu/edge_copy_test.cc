// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/edge_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/dtype.h"
#include "tests/cpu/kernel_buffers.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

using cpu::EdgeCopyArgs;

using Shape = std::array<int64_t, 4>;  // (frames, height, width, channels)

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Shape strides_thwc(const Shape& s) { return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}; }
Shape strides_cthw(const Shape& s) { return {s[1] * s[2], s[2], 1, s[0] * s[1] * s[2]}; }

void run(const EdgeCopyArgs& args, int threads = 2) {
  ThreadPool pool(threads);
  cpu::edge_copy(args, pool, {});
}

// One row of one channel each.
template <typename From, typename To>
std::vector<To> convert(std::vector<From> from, DType from_dtype, Range from_range, DType to_dtype,
                        Range to_range, bool clamp = false) {
  std::vector<To> to(from.size());
  run({.shape = {1, 1, std::ssize(from), 1},
       .from = {from.data(), from_dtype, {0, 0, 1, 0}},
       .to = {to.data(), to_dtype, {0, 0, 1, 0}},
       .from_range = from_range,
       .to_range = to_range,
       .clamp = clamp});
  return to;
}

TEST(EdgeCopy, ReadsBytesAsMinusOneToOne) {
  EXPECT_THAT((convert<uint8_t, float>({0, 51, 255}, DType::kUInt8, Range::kBytes, DType::kFloat32,
                                       Range::kSigned)),
              testing::ElementsAre(-1.0F, 51 / 127.5F - 1, 1.0F));
}

TEST(EdgeCopy, ReturnsEveryByteUnchanged) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<uint8_t>(i));
  const auto floats =
      convert<uint8_t, float>(bytes, DType::kUInt8, Range::kBytes, DType::kFloat32, Range::kSigned);
  EXPECT_EQ((convert<float, uint8_t>(floats, DType::kFloat32, Range::kSigned, DType::kUInt8,
                                     Range::kBytes)),
            bytes);
}

TEST(EdgeCopy, RoundsHalvesOfBytesToEven) {
  std::vector<float> halves;
  std::vector<uint8_t> expected;
  for (int k = 0; k < 255; ++k) {
    const float x = (static_cast<float>(k) + 0.5F) / 127.5F - 1.0F;
    if ((x + 1.0F) * 127.5F != static_cast<float>(k) + 0.5F) continue;  // float has no such half
    halves.push_back(x);
    expected.push_back(static_cast<uint8_t>(k + k % 2));
  }
  ASSERT_GT(halves.size(), 50U);
  EXPECT_EQ((convert<float, uint8_t>(halves, DType::kFloat32, Range::kSigned, DType::kUInt8,
                                     Range::kBytes)),
            expected);
}

TEST(EdgeCopy, WritesNonNumbersAndExcessAsBytes) {
  EXPECT_THAT(
      (convert<float, uint8_t>({std::nanf(""), -kInfinity, kInfinity, -1.5F, 1.5F, 1e30F},
                               DType::kFloat32, Range::kSigned, DType::kUInt8, Range::kBytes)),
      testing::ElementsAre(0, 0, 255, 0, 255, 255));
}

TEST(EdgeCopy, ConvertsRanges) {
  EXPECT_THAT((convert<float, float>({0.0F, 0.25F, 1.0F}, DType::kFloat32, Range::kUnit,
                                     DType::kFloat32, Range::kSigned)),
              testing::ElementsAre(-1.0F, -0.5F, 1.0F));
  EXPECT_THAT((convert<float, float>({-1.0F, -0.5F, 1.0F}, DType::kFloat32, Range::kSigned,
                                     DType::kFloat32, Range::kUnit)),
              testing::ElementsAre(0.0F, 0.25F, 1.0F));
  EXPECT_THAT((convert<uint8_t, float>({0, 255}, DType::kUInt8, Range::kBytes, DType::kFloat32,
                                       Range::kUnit)),
              testing::ElementsAre(0.0F, 1.0F));
}

TEST(EdgeCopy, ClampsOnlyWhenAsked) {
  const std::vector<float> x = {-2.0F, 0.5F, 2.0F, std::nanf("")};
  const auto clamped = convert<float, float>(x, DType::kFloat32, Range::kSigned, DType::kFloat32,
                                             Range::kSigned, true);
  EXPECT_THAT(clamped, testing::ElementsAre(-1.0F, 0.5F, 1.0F, testing::IsNan()));
  const auto plain =
      convert<float, float>(x, DType::kFloat32, Range::kSigned, DType::kFloat32, Range::kSigned);
  EXPECT_TRUE(same_bits(plain, x));
}

TEST(EdgeCopy, KeepsTheBitsOfAPlainCopy) {
  const std::vector<float> x = {0.0F, -0.0F, 1e-45F, kInfinity, -kInfinity, 0.1F};
  EXPECT_TRUE(same_bits(
      convert<float, float>(x, DType::kFloat32, Range::kSigned, DType::kFloat32, Range::kSigned),
      x));
}

TEST(EdgeCopy, ReadsAndWritesSixteenBitTypes) {
  const std::vector<float> x = random_floats(100, 1);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const auto narrow =
        convert<float, uint16_t>(x, DType::kFloat32, Range::kSigned, dtype, Range::kSigned);
    const auto wide =
        convert<uint16_t, float>(narrow, dtype, Range::kSigned, DType::kFloat32, Range::kSigned);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t expected =
          dtype == DType::kFloat16 ? float_to_float16(x[i]) : float_to_bfloat16(x[i]);
      EXPECT_EQ(narrow[i], expected);
      EXPECT_EQ(wide[i], load_as_float(&expected, dtype, 0));
    }
  }
}

TEST(EdgeCopy, MovesAxesAndScalesChannels) {
  const Shape shape = {2, 3, 5, 4};
  const std::vector<float> x = random_floats(2 * 3 * 5 * 4, 2);
  const std::vector<float> scale = random_floats(4, 3), offset = random_floats(4, 4);
  std::vector<float> from = x;
  for (const int threads : {1, 3}) {
    GuardedArray y(DType::kFloat32, std::ssize(x));
    run({.shape = shape,
         .from = {from.data(), DType::kFloat32, strides_thwc(shape)},
         .to = {y.data(), DType::kFloat32, strides_cthw(shape)},
         .scale = scale,
         .offset = offset},
        threads);
    EXPECT_TRUE(y.guards_hold());
    for (size_t c = 0; c < 4; ++c) {
      for (size_t pixel = 0; pixel < 30; ++pixel) {
        const float product = x[pixel * 4 + c] * scale[c];
        ASSERT_EQ(y.floats()[c * 30 + pixel], product + offset[c]);
      }
    }
  }
}

TEST(EdgeCopy, TakesUnalignedAndBackwardTensors) {
  const std::vector<float> x = random_floats(6, 5);
  std::vector<std::byte> bytes(6 * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, x.data(), 6 * sizeof(float));
  std::vector<float> y(6);
  run({.shape = {1, 1, 6, 1},
       .from = {bytes.data() + 1, DType::kFloat32, {0, 0, 1, 0}},
       .to = {y.data() + 5, DType::kFloat32, {0, 0, -1, 0}}});
  EXPECT_TRUE(same_bits(y, std::vector<float>(x.rbegin(), x.rend())));
}

TEST(EdgeCopy, RefusesTypesThatAreNoVideo) {
  int64_t x = 0;
  float y = 0;
  const EdgeCopyArgs args = {.shape = {1, 1, 1, 1},
                             .from = {&x, DType::kInt64, {1, 1, 1, 1}},
                             .to = {&y, DType::kFloat32, {1, 1, 1, 1}}};
  EXPECT_THROW(run(args), Error);
}

TEST(EdgeCopy, TakesNoFrames) { run({.shape = {0, 4, 4, 3}}); }

TEST(EdgeCopy, TalliesWhatIsNotFiniteBeforeItIsClamped) {
  const float nan = std::nanf("");
  std::vector<float> from = {0, 1, 2, 3, kInfinity, 5, nan, -kInfinity};  // (4, 1, 2, 1)
  std::vector<uint8_t> to(from.size());
  NotFiniteTally tally;
  EdgeCopyArgs args = {.shape = {4, 1, 2, 1},
                       .from = {from.data(), DType::kFloat32, {2, 2, 1, 1}},
                       .to = {to.data(), DType::kUInt8, {2, 2, 1, 1}},
                       .to_range = Range::kBytes,
                       .clamp = true,
                       .tally = &tally,
                       .first_frame = 10};
  run(args);
  EXPECT_EQ(tally.values, 3U);
  EXPECT_EQ(NotFiniteTally::kEnd - tally.left, 12U);
  args.first_frame = 5;
  run(args);
  EXPECT_EQ(tally.values, 6U);
  EXPECT_EQ(NotFiniteTally::kEnd - tally.left, 7U);
  args.tally = nullptr;
  run(args);
  const std::vector<float> scale = {3e38F};
  NotFiniteTally scaled;
  from = {10, 1, 1, 1, 1, 1, 1, 1};  // 10 * 3e38 is infinite
  args.tally = &scaled;
  args.scale = scale;
  run(args);
  EXPECT_EQ(scaled.values, 1U);
  EXPECT_EQ(tally.values, 6U);
}

TEST(EdgeCopy, StopsWhenCancelled) {
  float x = 1, y = 2;
  ThreadPool pool(2);
  EXPECT_THROW(cpu::edge_copy({.shape = {1, 1, 1, 1},
                               .from = {&x, DType::kFloat32, {1, 1, 1, 1}},
                               .to = {&y, DType::kFloat32, {1, 1, 1, 1}}},
                              pool, {.cancelled = [] { return true; }}),
               Error);
  EXPECT_EQ(y, 2);
}

}  // namespace
}  // namespace zoetrope
