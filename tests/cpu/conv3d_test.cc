// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/conv3d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cpu/kernels/conv3d_blocks.h"
#include "tests/cpu/conv3d_case.h"
#include "tests/cpu/conv3d_shapes.h"
#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/conv3d.h"
#include "tests/reference/pointwise.h"
#include "tests/reference/winograd.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

using cpu::Conv3dArgs;
using cpu::Conv3dKernel;
using cpu::Conv3dStore;

std::vector<NamedShape> cases() {
  std::vector<NamedShape> shapes = awkward_shapes();
  const std::vector<NamedShape> more = {
      {"one row", shape({2, 1, 13}, {5, 97}, {3, 3, 3})},
      {"first frames, 16 to 50", shape({2, 3, 5}, {16, 50}, {3, 3, 3}, 2), false},
      {"RGB in", shape({2, 7, 11}, {3, 96}, {3, 3, 3})},
      {"RGB in, lines in pieces", shape({1, 2, 251}, {3, 17}, {3, 3, 3})},
      {"RGB in, per frame", shape({2, 4, 1}, {3, 7}, {1, 3, 3})},
      {"two vectors", shape({1, 5, 6}, {8, 32}, {3, 3, 3})},
      {"chunks of channels", with_shortcut_channels(shape({1, 4, 3}, {600, 20}, {3, 3, 3}), 600)},
      {"last chunk shorter", with_shortcut_channels(shape({1, 3, 3}, {577, 20}, {1, 3, 3}), 577)},
      {"a chunk of odd channels", shape({1, 2, 3}, {257, 20}, {1, 3, 3})},
      {"down in time, one output", down_in_time(shape({2, 1, 1}, {33, 5}, {3, 1, 1}))},
      {"down in space, odd", down_in_space(shape({1, 7, 5}, {8, 50}, {1, 3, 3}))},
      {"several blocks", shape({4, 12, 12}, {96, 96}, {3, 3, 3})},
      {"pairs of frames, odd sizes", shape({4, 5, 7}, {17, 50}, {3, 3, 3})},
      {"pairs of frames, chunks",
       with_shortcut_channels(shape({2, 3, 3}, {577, 20}, {3, 3, 3}), 7)},
      {"many panels", shape({1, 5, 5}, {4, 1100}, {1, 1, 1})},
      {"interleaved, two panels", interleaved(shape({2, 3, 3}, {9, 53}, {3, 1, 1}))},
      {"phases, two panels", phases(shape({1, 3, 7}, {33, 53}, {1, 2, 2}))},
  };
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

using Alias = ConvExtras::Alias;

// Shortcuts are left out where the store map forbids them.
std::vector<ConvExtras> all_extras(const Conv3dArgs& args) {
  const bool plain = args.store == Conv3dStore::kPlain;
  return {
      {},
      {.name = "residual", .residual = true},
      {.name = "residual in place", .residual = true, .residual_is = Alias::kRaw},
      {.name = "shortcut", .shortcut = plain},
      {.name = "float32", .residual = true, .raw_float32 = true},
      {.name = "norm", .norm = true, .raw = false},
      {.name = "norm, SiLU", .norm = true, .silu = true, .raw = false},
      {.name = "raw and activated",
       .residual = true,
       .shortcut = plain,
       .norm = true,
       .silu = true,
       .residual_is = Alias::kRaw},
      {.name = "activated in place",
       .residual = true,
       .norm = true,
       .silu = true,
       .raw_float32 = true,
       .residual_is = Alias::kActivated},
  };
}

// Each sum has n terms: products, a bias and a residual. A term passes at most n roundings (its
// product, where products and sums are separate, and the sums), each at most u = 2^-24 relative.
// Taken as independent with mean zero, they stay below 6 sqrt(n) u sum |term| but for odds of
// 2 e^-18 (Higham and Mary, 2019); of these tests' outputs none should exceed it. Products of
// bfloat16 are exact in float32, and each sum may lose what is below 2^-126.
double sum_error(const Conv3dArgs& args, const ConvExtras& extras, double magnitude) {
  const int64_t products =
      (args.kernel_time - args.first_tap) * args.kernel_height * args.kernel_width * args.c_in;
  const auto terms = static_cast<double>(products + (extras.shortcut ? args.c_shortcut : 0) + 3);
  return 6 * std::sqrt(terms) * 0x1p-24 * magnitude + terms * 0x1p-126;
}

// By Winograd's algorithm a term passes the sums of its product (one for each tap in time and
// channel), and 4 roundings more for its pixel, 8 for its taps, and 4 for the tile's results; with
// pairs of frames 1, 3 and 3 more.
double winograd_error(const Conv3dArgs& args, const ConvExtras& extras, double magnitude,
                      bool pairs) {
  Conv3dArgs one_product = args;
  one_product.kernel_height = one_product.kernel_width = 1;
  return sum_error(one_product, extras, magnitude) + (pairs ? 23 : 16) * 0x1p-24 * magnitude;
}

bool pairs_frames(const Conv3dKernel& kernel) {
  return kernel.refusal == cpu::winograd_time_refusal;
}

bool by_winograd(const Conv3dKernel& kernel) {
  return kernel.refusal == cpu::winograd_refusal || pairs_frames(kernel);
}

double error_of(const Conv3dKernel& kernel, const Conv3dArgs& args, const ConvExtras& extras,
                const reference::ConvOperands& operands, const reference::ConvOutput& out,
                double magnitude) {
  if (!by_winograd(kernel)) return sum_error(args, extras, magnitude);
  const bool pairs = pairs_frames(kernel);
  return winograd_error(args, extras,
                        pairs ? reference::winograd_time_magnitude(args, operands, out)
                              : reference::winograd_magnitude(args, operands, out),
                        pairs);
}

class ExpectedPixel {
 public:
  // `pixel` of the output.
  ExpectedPixel(const ConvCase& conv, const ConvExtras& extras, const Conv3dKernel& kernel,
                int64_t pixel)
      : conv_(conv), pixel_(pixel) {
    const Conv3dArgs& args = conv.shape;
    const int64_t line = pixel / args.out_width;
    double squares = 0, square_errors = 0;
    for (int64_t c = 0; c < args.c_out; ++c) {
      const reference::ConvOutput out = {line / args.out_height, line % args.out_height,
                                         pixel % args.out_width, c};
      const auto operands = conv.operands(extras);
      const reference::ConvValue sum = reference::conv3d(args, operands, out);
      raw_.push_back(sum.value);
      errors_.push_back(error_of(kernel, args, extras, operands, out, sum.magnitude));
      squares += raw_.back() * raw_.back();
      square_errors += errors_.back() * errors_.back();
    }
    norm_ = std::sqrt(squares);
    norm_error_ = std::sqrt(square_errors);
  }

  void expect_raw(DType dtype, const std::vector<float>& y) const {
    for (size_t c = 0; c < raw_.size(); ++c) {
      ASSERT_NEAR(y[first() + c], raw_[c], rounded_error(dtype, raw_[c], errors_[c]))
          << "pixel " << pixel_ << " channel " << c;
    }
  }

  // With e of a value v and E of the norm N: |(v + e) / (N + E) - v / N| is at most
  // (e + E |v| / N) / (N - E). The norm itself: half of its sum's C u, and 8 roundings more (see
  // the pointwise tests, for SiLU too).
  void expect_activated(DType dtype, bool silu, const std::vector<float>& activated) const {
    if (norm_ <= 2 * norm_error_) return;
    const auto channels = static_cast<double>(raw_.size());
    for (size_t c = 0; c < raw_.size(); ++c) {
      const double factor = std::sqrt(channels) * double{conv_.gamma[c]};
      const double normed = raw_[c] / norm_ * factor;
      double error = (errors_[c] + norm_error_ * std::abs(raw_[c]) / norm_) /
                     (norm_ - norm_error_) * std::abs(factor);
      error += (channels / 2 + 8) * 0x1p-24 * (std::abs(normed) + error);
      const double expected = silu ? reference::silu(normed) : normed;
      if (silu) error = 1.1 * error + reference::silu_error(normed);
      ASSERT_NEAR(activated[first() + c], expected, rounded_error(dtype, expected, error))
          << "pixel " << pixel_ << " channel " << c;
    }
  }

 private:
  size_t first() const { return static_cast<size_t>(pixel_) * raw_.size(); }

  const ConvCase& conv_;
  int64_t pixel_;
  std::vector<double> raw_, errors_;
  double norm_ = 0, norm_error_ = 0;
};

class Conv3d : public testing::TestWithParam<Conv3dKernel> {
 protected:
  static DType dtype() { return GetParam().operands; }

  static bool takes(const Conv3dArgs& args) { return GetParam().refusal(args).empty(); }

  // Of a conv that every kernel takes but those for few channels.
  static int64_t channels(int64_t usual) {
    return GetParam().refusal == cpu::rgb_refusal ? cpu::kRgbChannels : usual;
  }

  ConvCase make(const Conv3dArgs& conv_shape, bool history, uint64_t seed) const {
    return {dtype(), conv_shape, history, seed};
  }

  // Of large outputs, some pixels.
  void expect_close(const ConvCase& conv, const ConvExtras& extras) const {
    const ConvResult result = conv.run(GetParam(), extras);
    const int64_t terms = conv.shape.c_in * conv.taps() * conv.output_pixels() * conv.shape.c_out;
    const int64_t cost = by_winograd(GetParam()) ? 13 : 1;
    const int64_t step = 1 + cost * terms / 5'000'000;
    for (int64_t pixel = 0; pixel < conv.output_pixels(); pixel += step) {
      const ExpectedPixel expected(conv, extras, GetParam(), pixel);
      if (extras.raw) {
        expected.expect_raw(extras.raw_float32 ? DType::kFloat32 : dtype(), result.y);
      }
      if (extras.norm) expected.expect_activated(dtype(), extras.silu, result.activated);
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto is_nan = [](float value) { return std::isnan(value); };
    EXPECT_TRUE(std::ranges::none_of(result.y, is_nan));
    EXPECT_TRUE(std::ranges::none_of(result.activated, is_nan));
  }
};

bool same_bits(const ConvResult& a, const ConvResult& b) {
  return zoetrope::same_bits(a.y, b.y) && zoetrope::same_bits(a.activated, b.activated);
}

constexpr ConvExtras kEverything = {
    .name = "everything", .residual = true, .shortcut = true, .norm = true, .silu = true};

ConvExtras everything_for(const Conv3dArgs& args) { return all_extras(args)[7]; }

TEST_P(Conv3d, MatchesTheDefinition) {
  uint64_t seed = 100;
  for (const NamedShape& test : cases()) {
    if (!takes(test.shape)) continue;
    const ConvCase conv = make(test.shape, test.history, seed += 10);
    for (const ConvExtras& extras : all_extras(test.shape)) {
      // Two types do not fit in one another's place.
      if (dtype() != DType::kFloat32 && extras.raw_float32 && extras.residual_is == Alias::kRaw) {
        continue;
      }
      SCOPED_TRACE(std::string(test.name) + ": " + extras.name);
      expect_close(conv, extras);
    }
  }
}

TEST_P(Conv3d, LeavesOutAMissingBias) {
  for (const Conv3dArgs& args : {shape({2, 3, 4}, {channels(9), 50}, {3, 3, 3}),
                                 interleaved(shape({1, 3, 4}, {5, 50}, {3, 3, 3})),
                                 phases(shape({1, 3, 4}, {5, 50}, {3, 2, 2}))}) {
    if (!takes(args)) continue;
    ConvCase conv = make(args, true, 1);
    conv.bias.clear();
    expect_close(conv, {});
  }
}

TEST_P(Conv3d, GivesTheSameBitsInPlace) {
  for (const int64_t c_out : {3, 50, 96}) {
    const ConvCase conv = make(shape({2, 3, 4}, {channels(9), c_out}, {3, 3, 3}), true, 2);
    ConvExtras extras = kEverything;
    const ConvResult apart = conv.run(GetParam(), extras);
    for (const Alias alias : {Alias::kRaw, Alias::kActivated}) {
      extras.residual_is = alias;
      EXPECT_TRUE(same_bits(conv.run(GetParam(), extras), apart));
    }
  }
}

TEST_P(Conv3d, GivesTheSameRawBitsWithAndWithoutANorm) {
  for (const NamedShape& test : cases()) {
    if (!takes(test.shape)) continue;
    SCOPED_TRACE(test.name);
    const ConvCase conv = make(test.shape, test.history, 3);
    EXPECT_TRUE(zoetrope::same_bits(conv.run(GetParam(), {}).y,
                                    conv.run(GetParam(), {.norm = true, .silu = true}).y));
  }
}

TEST_P(Conv3d, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const NamedShape& test : cases()) {
    if (!takes(test.shape)) continue;
    SCOPED_TRACE(test.name);
    const ConvCase conv = make(test.shape, test.history, 3);
    for (const ConvExtras& extras : {ConvExtras{}, everything_for(test.shape)}) {
      const ConvResult one = conv.run(GetParam(), extras, 1);
      for (const int threads : {2, 3, 5}) {
        EXPECT_TRUE(same_bits(conv.run(GetParam(), extras, threads), one)) << threads;
      }
    }
  }
}

// Frames [first, first + frames) of a conv, with what lies before them as history.
ConvCase piece_of(const ConvCase& whole, int64_t first, int64_t frames) {
  ConvCase piece = whole;
  std::vector<float> all = whole.history;
  all.insert(all.end(), whole.x.begin(), whole.x.end());
  const int64_t kept = std::ssize(whole.history);
  const auto begin = all.begin() + first * whole.plane();
  piece.shape.frames = frames;
  piece.history.assign(begin, begin + kept);
  piece.x.assign(begin + kept, begin + kept + frames * whole.plane());
  const int64_t pixels = piece.output_pixels();
  const int64_t first_pixel = first * pixels / frames;
  const auto slice = [&](std::vector<float>& values, int64_t channels) {
    values = {values.begin() + first_pixel * channels,
              values.begin() + (first_pixel + pixels) * channels};
  };
  slice(piece.residual, whole.shape.c_out);
  slice(piece.shortcut, whole.shape.c_shortcut);
  return piece;
}

TEST_P(Conv3d, GivesTheSameBitsForAnyCutInTime) {
  for (const Conv3dArgs& whole_shape :
       {shape({8, 5, 9}, {channels(20), 50}, {3, 3, 3}), shape({8, 3, 2}, {20, 50}, {3, 1, 1}),
        down_in_time(shape({8, 3, 3}, {130, 7}, {3, 1, 1})),
        interleaved(shape({8, 3, 3}, {20, 50}, {3, 1, 1})),
        phases(shape({8, 3, 3}, {20, 50}, {3, 2, 2}))}) {
    if (!takes(whole_shape)) continue;
    const ConvCase whole = make(whole_shape, true, 4);
    const ConvExtras extras = everything_for(whole_shape);
    const ConvResult expected = whole.run(GetParam(), extras);
    const int64_t least = pairs_frames(GetParam()) ? 2 : whole_shape.stride_time;
    for (const int64_t step : {least, int64_t{4}}) {
      ConvResult pieces;
      for (int64_t frame = 0; frame < whole_shape.frames; frame += step) {
        const ConvResult piece = piece_of(whole, frame, step).run(GetParam(), extras);
        pieces.y.insert(pieces.y.end(), piece.y.begin(), piece.y.end());
        pieces.activated.insert(pieces.activated.end(), piece.activated.begin(),
                                piece.activated.end());
      }
      EXPECT_TRUE(same_bits(pieces, expected)) << step;
    }
  }
}

// Rows [first, first + count) of each of `frames` frames of `rows`.
std::vector<float> rows_of(const std::vector<float>& values, int64_t frames, int64_t rows,
                           int64_t first, int64_t count) {
  const int64_t row = std::ssize(values) / frames / rows;
  std::vector<float> part;
  for (int64_t frame = 0; frame < frames; ++frame) {
    const auto begin = values.begin() + (frame * rows + first) * row;
    part.insert(part.end(), begin, begin + count * row);
  }
  return part;
}

TEST_P(Conv3d, GivesTheSameBitsForAnyCutInSpace) {
  // Cuts are at even rows, as every tile that a device works on is.
  constexpr int64_t kRows = 14, kFirst = 4, kCut = 8, kWidth = 11, kOut = 50;
  const ConvCase whole = make(shape({2, kRows, kWidth}, {channels(70), kOut}, {3, 3, 3}), true, 5);
  const std::vector<float> expected = whole.run(GetParam(), {}).y;
  ConvCase cut = whole;
  cut.x = rows_of(whole.x, 2, kRows, kFirst, kCut);
  cut.history = rows_of(whole.history, 2, kRows, kFirst, kCut);
  cut.shape.height = cut.shape.out_height = kCut;
  const std::vector<float> part = cut.run(GetParam(), {}).y;
  // All rows but the cut's first and last, whose neighbours it lacks.
  EXPECT_TRUE(zoetrope::same_bits(rows_of(part, 2, kCut, 1, kCut - 2),
                                  rows_of(expected, 2, kRows, kFirst + 1, kCut - 2)));
}

TEST_P(Conv3d, SkipsZeroHistoryWithoutAnyDifference) {
  const ConvCase skipping = make(shape({1, 5, 7}, {channels(33), 50}, {3, 3, 3}, 2), false, 6);
  if (pairs_frames(GetParam())) {
    EXPECT_FALSE(takes(skipping.shape));
    return;
  }
  ConvCase all_taps = skipping;
  all_taps.shape.first_tap = 0;
  all_taps.history.resize(static_cast<size_t>(2 * all_taps.plane()));
  EXPECT_TRUE(same_bits(all_taps.run(GetParam(), {}), skipping.run(GetParam(), {})));
}

TEST_P(Conv3d, PropagatesNaN) {
  ConvCase conv = make(shape({2, 3, 3}, {channels(8), 5}, {3, 3, 3}), true, 7);
  conv.x[0] = std::nanf("");
  const ConvResult result = conv.run(GetParam(), {.norm = true, .silu = true});
  for (const std::vector<float>& y : {result.y, result.activated}) {
    EXPECT_TRUE(std::isnan(y[0]));                               // pixel (0, 0)
    EXPECT_TRUE(std::isnan(y[static_cast<size_t>(4 * 5 + 4)]));  // pixel (1, 1)
    EXPECT_FALSE(std::isnan(y[static_cast<size_t>(2 * 5)]));     // pixel (0, 2)
  }
}

TEST_P(Conv3d, NormsZerosToZeros) {
  ConvCase conv = make(shape({2, 2, 2}, {channels(8), 20}, {3, 3, 3}), true, 8);
  std::ranges::fill(conv.x, 0.0F);
  std::ranges::fill(conv.history, 0.0F);
  conv.bias.clear();
  EXPECT_THAT(conv.run(GetParam(), {.norm = true, .raw = false}).activated, testing::Each(0.0F));
}

TEST_P(Conv3d, StopsWhenCancelled) {
  const ConvCase conv = make(shape({2, 3, 3}, {channels(8), 5}, {3, 3, 3}), true, 8);
  try {
    conv.run(GetParam(), {}, 2, {.cancelled = [] { return true; }});
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST_P(Conv3d, RefusesArgumentsThatContradictEachOther) {
  const ConvCase no_history = make(shape({1, 3, 3}, {8, 5}, {3, 3, 3}, 1), false, 9);
  EXPECT_THROW(no_history.run(GetParam(), {}), Error);
  const ConvCase conv = make(shape({1, 3, 3}, {8, 5}, {1, 3, 3}), true, 9);
  EXPECT_THROW(conv.run(GetParam(), {.raw = false}), Error);  // no output
  const ConvCase doubled = make(phases(shape({1, 3, 3}, {4, 5}, {1, 2, 2})), true, 9);
  EXPECT_THROW(doubled.run(GetParam(), {.shortcut = true}), Error);
  ConvCase wrong_size = doubled;
  wrong_size.shape.height = 2;
  EXPECT_THROW(wrong_size.run(GetParam(), {}), Error);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Conv3d,
                         testing::ValuesIn(cpu::conv3d_kernels().begin(),
                                           cpu::conv3d_kernels().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Conv3dKernels, AreListedBestFirst) {
  const auto rows = cpu::conv3d_kernels();
  int64_t floats = 0;
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &Conv3dKernel::target));
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_float = rows[i].operands == DType::kFloat32;
    EXPECT_THAT(rows[i].name, testing::StartsWith(is_float ? "conv3d_f32_" : "conv3d_bf16_"));
    floats += is_float ? 1 : 0;
  }
  EXPECT_GT(floats, 0);
  EXPECT_EQ(cpu::conv3d_kernels().data(), rows.data());
}

}  // namespace
}  // namespace zoetrope
