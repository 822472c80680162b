// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/conv3d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/conv3d.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

using cpu::Conv3dArgs;
using cpu::Conv3dKernel;

// Sizes, taps and strides of `shape`; its pointers are not used.
class Conv {
 public:
  Conv(const Conv3dArgs& shape, bool history, uint64_t seed)
      : args_(shape),
        x_(random_floats(shape.frames * plane(), seed)),
        history_(random_floats((shape.kernel_time - shape.stride_time) * plane(), seed + 1)),
        weight_(random_floats(shape.c_out * shape.c_in * taps(), seed + 2)),
        bias_(random_floats(shape.c_out, seed + 3)),
        residual_(random_floats(output_size(), seed + 4)) {
    args_.x = x_.data();
    args_.history = history ? history_.data() : nullptr;
    args_.bias = bias_.data();
  }

  Conv3dArgs& args() { return args_; }
  const float* weight() const { return weight_.data(); }
  const std::vector<float>& residual() const { return residual_; }
  int64_t plane() const { return args_.height * args_.width * args_.c_in; }
  int64_t taps() const { return args_.kernel_time * args_.kernel_height * args_.kernel_width; }
  int64_t output_size() const {
    return args_.frames / args_.stride_time * args_.out_height * args_.out_width * args_.c_out;
  }

  // The output; `args` differs from args() in what the test varies.
  std::vector<float> run(const Conv3dKernel& kernel, Conv3dArgs args, int threads = 2) const {
    std::vector<std::byte> packed(
        static_cast<size_t>(kernel.packed_bytes(args.c_out, args.c_in, taps())));
    kernel.pack(weight(), args.c_out, args.c_in, taps(), packed.data());
    args.weight = reinterpret_cast<const float*>(packed.data());
    GuardedFloats y(args.frames / args.stride_time * args.out_height * args.out_width * args.c_out);
    if (args.residual == kItself) {
      std::ranges::copy(residual_, y.data());
      args.residual = y.data();
    }
    args.y = y.data();
    ThreadPool pool(threads);
    kernel.run(args, pool, {});
    EXPECT_TRUE(y.guards_hold());
    return {y.values().begin(), y.values().end()};
  }

  static const float* const kItself;  // as args.residual: y, holding residual()

 private:
  Conv3dArgs args_;
  std::vector<float> x_, history_, weight_, bias_, residual_;
};

const float kItselfTarget = 0;
const float* const Conv::kItself = &kItselfTarget;

struct Case {
  const char* name;
  Conv3dArgs shape;
  bool history = true;
};

// {frames, height, width}, {c_in, c_out}, {kernel}, the rest as named; outputs as large as inputs.
Conv3dArgs shape(std::array<int64_t, 3> size, std::array<int64_t, 2> channels,
                 std::array<int64_t, 3> kernel, int64_t first_tap = 0) {
  return {.frames = size[0],
          .height = size[1],
          .width = size[2],
          .c_in = channels[0],
          .kernel_time = kernel[0],
          .kernel_height = kernel[1],
          .kernel_width = kernel[2],
          .first_tap = first_tap,
          .pad_before = kernel[1] / 2,
          .out_height = size[1],
          .out_width = size[2],
          .c_out = channels[1]};
}

Conv3dArgs down_in_space(Conv3dArgs args) {
  args.stride_space = 2;
  args.pad_before = 0;
  args.out_height = (args.height + 1 - 3) / 2 + 1;
  args.out_width = (args.width + 1 - 3) / 2 + 1;
  return args;
}

Conv3dArgs down_in_time(Conv3dArgs args) {
  args.stride_time = 2;
  return args;
}

std::vector<Case> cases() {
  return {
      {"one number", shape({1, 1, 1}, {1, 1}, {3, 3, 3})},
      {"one number, one tap", shape({1, 1, 1}, {1, 1}, {1, 1, 1})},
      {"one column", shape({3, 9, 1}, {16, 48}, {3, 3, 3})},
      {"one row", shape({2, 1, 13}, {5, 97}, {3, 3, 3})},
      {"first frames of two clips", shape({2, 3, 5}, {3, 50}, {3, 3, 3}, 2), false},
      {"RGB in", shape({2, 7, 11}, {3, 96}, {3, 3, 3})},
      {"RGB out", shape({2, 5, 7}, {96, 3}, {3, 3, 3})},
      {"17 to 3", shape({3, 5, 7}, {17, 3}, {3, 3, 3})},
      {"16 to 17", shape({1, 6, 9}, {16, 17}, {3, 3, 3}, 1)},
      {"two vectors", shape({1, 5, 6}, {8, 32}, {3, 3, 3})},
      {"chunks of channels", shape({1, 4, 3}, {300, 20}, {3, 3, 3})},
      {"last chunk shorter", shape({1, 3, 3}, {257, 20}, {1, 3, 3})},
      {"time conv", shape({2, 3, 3}, {8, 16}, {3, 1, 1})},
      {"time conv, many frames", shape({8, 2, 5}, {32, 64}, {3, 1, 1})},
      {"down in time", down_in_time(shape({4, 4, 3}, {12, 12}, {3, 1, 1}))},
      {"down in time, one output", down_in_time(shape({2, 1, 1}, {33, 5}, {3, 1, 1}))},
      {"down in space", down_in_space(shape({2, 6, 8}, {7, 9}, {1, 3, 3}))},
      {"down in space, odd", down_in_space(shape({1, 7, 5}, {8, 50}, {1, 3, 3}))},
      {"down in space, to one", down_in_space(shape({1, 2, 2}, {4, 4}, {1, 3, 3}))},
      {"per frame", shape({3, 4, 4}, {33, 32}, {1, 3, 3})},
      {"per pixel", shape({1, 1, 37}, {130, 100}, {1, 1, 1})},
      {"per pixel, many", shape({3, 20, 23}, {8, 24}, {1, 1, 1})},
      {"several blocks", shape({4, 12, 12}, {96, 96}, {3, 3, 3})},
      {"wide taps", shape({1, 6, 40}, {1, 2}, {1, 5, 31})},
  };
}

// Each output is a sum of K products, a bias and a residual. A term passes at most n = K + 3
// roundings (its product, where products and sums are separate, and the sums), each at most
// u = 2^-24 relative. Taken as independent with mean zero, they stay below
// 6 sqrt(n) u sum |term| but for odds of 2 e^-18 (Higham and Mary, 2019); of these tests' outputs
// none should exceed it.
void expect_close(const Conv& conv, const Conv3dArgs& args, std::span<const float> y) {
  const double terms = static_cast<double>(
      (args.kernel_time - args.first_tap) * args.kernel_height * args.kernel_width * args.c_in + 3);
  for (size_t index = 0; index < y.size(); ++index) {
    const auto i = static_cast<int64_t>(index);
    const int64_t pixel = i / args.c_out;
    const int64_t line = pixel / args.out_width;
    const reference::ConvValue expected =
        reference::conv3d(args, conv.weight(), line / args.out_height, line % args.out_height,
                          pixel % args.out_width, i % args.c_out);
    ASSERT_NEAR(y[index], expected.value, 6 * std::sqrt(terms) * 0x1p-24 * expected.magnitude)
        << "output " << i;
  }
}

class Conv3d : public testing::TestWithParam<Conv3dKernel> {};

TEST_P(Conv3d, MatchesTheDefinition) {
  uint64_t seed = 100;
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    Conv conv(test.shape, test.history, seed += 10);
    expect_close(conv, conv.args(), conv.run(GetParam(), conv.args()));
  }
}

TEST_P(Conv3d, LeavesOutAMissingBias) {
  Conv conv(shape({1, 3, 4}, {5, 50}, {3, 3, 3}), true, 1);
  conv.args().bias = nullptr;
  expect_close(conv, conv.args(), conv.run(GetParam(), conv.args()));
}

TEST_P(Conv3d, AddsAResidualThatMayBeTheOutput) {
  for (const int64_t c_out : {3, 50, 96}) {
    Conv conv(shape({2, 3, 4}, {5, c_out}, {3, 3, 3}), true, 2);
    conv.args().residual = conv.residual().data();
    const std::vector<float> y = conv.run(GetParam(), conv.args());
    expect_close(conv, conv.args(), y);
    Conv3dArgs in_place = conv.args();
    in_place.residual = Conv::kItself;
    EXPECT_TRUE(same_bits(conv.run(GetParam(), in_place), y));
  }
}

TEST_P(Conv3d, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    Conv conv(test.shape, test.history, 3);
    const std::vector<float> one = conv.run(GetParam(), conv.args(), 1);
    for (const int threads : {2, 3, 5}) {
      EXPECT_TRUE(same_bits(conv.run(GetParam(), conv.args(), threads), one)) << threads;
    }
  }
}

TEST_P(Conv3d, GivesTheSameBitsForAnyCutInTime) {
  const std::vector<Conv3dArgs> shapes = {shape({8, 5, 9}, {20, 50}, {3, 3, 3}),
                                          shape({8, 3, 2}, {20, 50}, {3, 1, 1}),
                                          down_in_time(shape({8, 3, 3}, {130, 7}, {3, 1, 1}))};
  for (const Conv3dArgs& whole_shape : shapes) {
    Conv conv(whole_shape, true, 4);
    const std::vector<float> whole = conv.run(GetParam(), conv.args());
    const int64_t kept = whole_shape.kernel_time - whole_shape.stride_time;
    for (const int64_t step : {whole_shape.stride_time, int64_t{4}}) {
      std::vector<float> pieces;
      for (int64_t frame = 0; frame < whole_shape.frames; frame += step) {
        // The frames before this piece: of the history, then of x.
        std::vector<float> before(conv.args().history, conv.args().history + kept * conv.plane());
        before.insert(before.end(), conv.args().x, conv.args().x + frame * conv.plane());
        Conv3dArgs piece = conv.args();
        piece.frames = step;
        piece.x = conv.args().x + frame * conv.plane();
        piece.history = before.data() + frame * conv.plane();
        const std::vector<float> y = conv.run(GetParam(), piece);
        pieces.insert(pieces.end(), y.begin(), y.end());
      }
      EXPECT_TRUE(same_bits(pieces, whole)) << step;
    }
  }
}

TEST_P(Conv3d, GivesTheSameBitsForAnyCutInSpace) {
  constexpr int64_t kRows = 14, kFirst = 5, kCut = 9, kWidth = 11, kOut = 50;
  Conv conv(shape({1, kRows, kWidth}, {70, kOut}, {1, 3, 3}), true, 5);
  const std::vector<float> whole = conv.run(GetParam(), conv.args());
  Conv3dArgs cut = conv.args();
  cut.x += kFirst * kWidth * cut.c_in;
  cut.height = cut.out_height = kCut;
  const std::vector<float> part = conv.run(GetParam(), cut);
  // All rows but the cut's first and last, whose neighbours it lacks.
  EXPECT_TRUE(same_bits(
      std::span(part).subspan(kWidth * kOut, (kCut - 2) * kWidth * kOut),
      std::span(whole).subspan((kFirst + 1) * kWidth * kOut, (kCut - 2) * kWidth * kOut)));
}

TEST_P(Conv3d, SkipsZeroHistoryWithoutAnyDifference) {
  Conv conv(shape({1, 5, 7}, {33, 50}, {3, 3, 3}, 2), false, 6);
  const std::vector<float> skipped = conv.run(GetParam(), conv.args());
  const std::vector<float> zeros(static_cast<size_t>(2 * conv.plane()));
  Conv3dArgs all_taps = conv.args();
  all_taps.first_tap = 0;
  all_taps.history = zeros.data();
  EXPECT_TRUE(same_bits(conv.run(GetParam(), all_taps), skipped));
}

TEST_P(Conv3d, PropagatesNaN) {
  Conv conv(shape({1, 3, 3}, {4, 5}, {1, 3, 3}), true, 7);
  std::vector<float> x(conv.args().x, conv.args().x + conv.plane());
  x[0] = std::nanf("");
  conv.args().x = x.data();
  const std::vector<float> y = conv.run(GetParam(), conv.args());
  EXPECT_TRUE(std::isnan(y[0]));                               // pixel (0, 0)
  EXPECT_TRUE(std::isnan(y[static_cast<size_t>(4 * 5 + 4)]));  // pixel (1, 1)
  EXPECT_FALSE(std::isnan(y[static_cast<size_t>(2 * 5)]));     // pixel (0, 2)
}

TEST_P(Conv3d, StopsWhenCancelled) {
  Conv conv(shape({1, 3, 3}, {4, 5}, {1, 3, 3}), true, 8);
  ThreadPool pool(2);
  Conv3dArgs args = conv.args();
  std::vector<float> weight(static_cast<size_t>(GetParam().packed_bytes(5, 4, 9)) / 4);
  std::vector<float> y(static_cast<size_t>(conv.output_size()));
  args.weight = weight.data();
  args.y = y.data();
  try {
    GetParam().run(args, pool, {.cancelled = [] { return true; }});
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST_P(Conv3d, RefusesToReadAMissingHistory) {
  Conv conv(shape({1, 3, 3}, {4, 5}, {3, 3, 3}, 1), false, 9);
  EXPECT_THROW(conv.run(GetParam(), conv.args()), Error);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Conv3d,
                         testing::ValuesIn(cpu::conv3d_kernels().begin(),
                                           cpu::conv3d_kernels().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Conv3dKernels, AreListedBestFirst) {
  const auto rows = cpu::conv3d_kernels();
  ASSERT_FALSE(rows.empty());
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].target, rows[i].target);
  EXPECT_THAT(rows[0].name, testing::StartsWith("conv3d_f32_"));
  EXPECT_EQ(cpu::conv3d_kernels().data(), rows.data());
}

}  // namespace
}  // namespace zoetrope
