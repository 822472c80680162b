// SPDX-License-Identifier: Apache-2.0
#include "cuda/conv_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "cuda/kernels/conv3d_mma.h"
#include "tests/cpu/conv3d_case.h"
#include "tests/cpu/conv3d_shapes.h"
#include "tests/cuda/conv_on_device.h"
#include "tests/cuda/device_buffers.h"
#include "tests/reference/conv3d.h"
#include "tests/reference/pointwise.h"

namespace zoetrope {
namespace {

using Shape = cpu::Conv3dArgs;

std::vector<NamedShape> cases() {
  std::vector<NamedShape> shapes = awkward_shapes();
  const std::vector<NamedShape> more = {
      {"one row", shape({2, 1, 37}, {5, 97}, {3, 3, 3})},
      {"RGB in", shape({2, 7, 19}, {3, 96}, {3, 3, 3})},
      {"RGB in, large", shape({2, 33, 45}, {3, 96}, {3, 3, 3})},
      {"RGB in, first frame", shape({1, 9, 17}, {3, 96}, {3, 3, 3}, 2), false},
      {"RGB out, large", shape({2, 37, 45}, {96, 3}, {3, 3, 3})},
      {"8 to 32", shape({1, 5, 6}, {8, 32}, {3, 3, 3})},
      {"96 to 96", with_shortcut_channels(shape({2, 18, 35}, {96, 96}, {3, 3, 3}), 192)},
      {"96 to 192", with_shortcut_channels(shape({1, 9, 17}, {96, 192}, {3, 3, 3}), 96)},
      {"192 to 384", with_shortcut_channels(shape({1, 5, 18}, {192, 384}, {3, 3, 3}), 192)},
      {"384 to 384", shape({1, 6, 5}, {384, 384}, {3, 3, 3}, 1)},
      {"many chunks", with_shortcut_channels(shape({1, 4, 3}, {600, 20}, {3, 3, 3}), 600)},
      {"odd channels", with_shortcut_channels(shape({1, 3, 3}, {577, 20}, {1, 3, 3}), 577)},
      {"down in time, 192", down_in_time(shape({2, 9, 7}, {192, 192}, {3, 1, 1}))},
      {"down in space, odd", down_in_space(shape({1, 37, 45}, {8, 50}, {1, 3, 3}))},
      {"down in space, 96", down_in_space(shape({1, 20, 38}, {96, 96}, {1, 3, 3}))},
      {"down in space, 192", down_in_space(shape({1, 20, 38}, {192, 192}, {1, 3, 3}))},
      {"per pixel, 384 to 1152", shape({1, 4, 5}, {384, 1152}, {1, 1, 1})},
      {"interleaved, 384", interleaved(shape({2, 3, 7}, {384, 384}, {3, 1, 1}))},
      {"phases, 384 to 192", phases(shape({1, 9, 18}, {384, 192}, {1, 2, 2}))},
  };
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

using Alias = ConvExtras::Alias;

std::vector<ConvExtras> all_extras(const Shape& args) {
  const bool plain = args.store == cpu::Conv3dStore::kPlain;
  std::vector<ConvExtras> extras = {
      {},
      {.name = "float32", .raw_float32 = true},
      {.name = "residual in place", .residual = true, .residual_is = Alias::kRaw},
      {.name = "shortcut, float32", .residual = true, .shortcut = plain, .raw_float32 = true}};
  if (args.c_out > cuda::kConv3dMmaMostNormed) return extras;
  extras.push_back({.name = "norm", .norm = true, .raw = false});
  extras.push_back({.name = "raw and activated",
                    .residual = true,
                    .shortcut = plain,
                    .norm = true,
                    .silu = true,
                    .residual_is = Alias::kRaw});
  extras.push_back({.name = "activated in place",
                    .residual = true,
                    .norm = true,
                    .silu = true,
                    .raw_float32 = true,
                    .residual_is = Alias::kActivated});
  return extras;
}

// See the CPU's test. A product of halves loses 2^-21 of itself at most; tensor cores cut sums off
// where a processor would round them, which doubles the unit.
double sum_error(const Conv& conv, const ConvExtras& extras, double magnitude) {
  const Shape& s = conv.data.shape;
  const int64_t products =
      (s.kernel_time - s.first_tap) * s.kernel_height * s.kernel_width * s.c_in;
  const auto terms = static_cast<double>(products + (extras.shortcut ? s.c_shortcut : 0) + 3);
  const double halves = conv.types.operands == DType::kFloat32 ? 0x1p-21 : 0;
  return (6 * std::sqrt(terms) * 0x1p-23 + halves) * magnitude + terms * 0x1p-126;
}

// What a value rounded to `dtype` may be off by.
double rounded(DType dtype, double expected, double error) {
  if (dtype != DType::kFloat16) return rounded_error(dtype, expected, error);
  return error + (std::abs(expected) + error) * 0x1p-11 + 0x1p-25;
}

class ExpectedPixel {
 public:
  ExpectedPixel(const Conv& conv, const ConvExtras& extras, int64_t pixel)
      : conv_(conv), extras_(extras), pixel_(pixel) {
    const Shape& args = conv.data.shape;
    const int64_t line = pixel / args.out_width;
    double squares = 0, square_errors = 0;
    for (int64_t c = 0; c < args.c_out; ++c) {
      const reference::ConvValue sum = reference::conv3d(
          args, conv.data.operands(extras),
          {line / args.out_height, line % args.out_height, pixel % args.out_width, c});
      raw_.push_back(sum.value);
      errors_.push_back(sum_error(conv, extras, sum.magnitude));
      squares += raw_.back() * raw_.back();
      square_errors += errors_.back() * errors_.back();
    }
    norm_ = std::sqrt(squares);
    norm_error_ = std::sqrt(square_errors);
  }

  void expect_raw(const std::vector<float>& y) const {
    for (size_t c = 0; c < raw_.size(); ++c) {
      ASSERT_NEAR(y[first() + c], raw_[c], rounded(conv_.raw_type(extras_), raw_[c], errors_[c]))
          << "pixel " << pixel_ << " channel " << c;
    }
  }

  void expect_activated(const std::vector<float>& activated) const {
    if (norm_ <= 2 * norm_error_) return;
    const auto channels = static_cast<double>(raw_.size());
    for (size_t c = 0; c < raw_.size(); ++c) {
      const double factor = std::sqrt(channels) * double{conv_.data.gamma[c]};
      const double normed = raw_[c] / norm_ * factor;
      double error = (errors_[c] + norm_error_ * std::abs(raw_[c]) / norm_) /
                     (norm_ - norm_error_) * std::abs(factor);
      error += (channels / 2 + 8) * 0x1p-24 * (std::abs(normed) + error);
      const double expected = extras_.silu ? reference::silu(normed) : normed;
      if (extras_.silu) error = 1.1 * error + reference::silu_error(normed);
      // Results of 16 bits come from faster, coarser exponentials.
      if (conv_.types.operands != DType::kFloat32) error += 0x1p-19 * std::abs(expected);
      // Hopper's take a SiLU from a tanh with a relative error under 2^-11.
      const bool hopper = std::string_view(conv_.kernel->name).starts_with("conv3d_sm90");
      if (hopper) error += 0x1p-12 * std::abs(normed);
      ASSERT_NEAR(activated[first() + c], expected,
                  rounded(conv_.activated_type(), expected, error))
          << "pixel " << pixel_ << " channel " << c;
    }
  }

 private:
  size_t first() const { return static_cast<size_t>(pixel_) * raw_.size(); }

  const Conv& conv_;
  const ConvExtras& extras_;
  int64_t pixel_;
  std::vector<double> raw_, errors_;
  double norm_ = 0, norm_error_ = 0;
};

// Of large outputs, some pixels.
void expect_close(const Conv& conv, const ConvExtras& extras) {
  const ConvResult result = conv.run(extras);
  const int64_t products = conv.data.shape.c_in * conv.data.taps() * conv.outputs();
  const int64_t step = 1 + products / 1'000'000;
  for (int64_t pixel = 0; pixel < conv.data.output_pixels(); pixel += step) {
    const ExpectedPixel expected(conv, extras, pixel);
    if (extras.raw) expected.expect_raw(result.y);
    if (extras.norm) expected.expect_activated(result.activated);
    if (testing::Test::HasFatalFailure()) return;
  }
  const auto is_nan = [](float value) { return std::isnan(value); };
  EXPECT_TRUE(std::ranges::none_of(result.y, is_nan));
  EXPECT_TRUE(std::ranges::none_of(result.activated, is_nan));
}

bool same_bits(const ConvResult& a, const ConvResult& b) {
  return zoetrope::same_bits(a.y, b.y) && zoetrope::same_bits(a.activated, b.activated);
}

// Two types do not fit in one another's place.
bool fits(const Conv& conv, const ConvExtras& extras) {
  if (extras.residual_is == Alias::kActivated) return conv.activated_type() == conv.raw_type({});
  return extras.residual_is == Alias::kNone || !extras.raw_float32;
}

bool has_hopper_rows(DType operands) {
  return gpu_capability() == 90 && operands != DType::kFloat32;
}

class CudaConvKernels : public testing::TestWithParam<DType> {};

TEST_P(CudaConvKernels, MatchesTheDefinition) {
  ZOETROPE_NEEDS_GPU();
  uint64_t seed = 100;
  for (const NamedShape& test : cases()) {
    const Conv conv({.operands = GetParam()}, test.shape, test.history, seed += 10);
    for (const ConvExtras& extras : all_extras(test.shape)) {
      if (!fits(conv, extras)) continue;
      SCOPED_TRACE(fmt::format("{}: {}", test.name, extras.name));
      expect_close(conv, extras);
    }
  }
}

// The same convs on every other row that takes them.
TEST_P(CudaConvKernels, MatchesTheDefinitionOnEveryRow) {
  ZOETROPE_NEEDS_GPU();
  uint64_t seed = 3000;
  std::map<std::string, int> runs;
  for (const NamedShape& test : cases()) {
    Conv conv({.operands = GetParam()}, test.shape, test.history, seed += 10);
    for (const cuda::ConvKernel& row :
         cuda::conv_kernels().first(cuda::conv_kernels().size() - 1)) {
      conv.kernel = &row;
      for (const ConvExtras& extras : all_extras(test.shape)) {
        if (!fits(conv, extras) || !conv.is_run_by(row, extras)) continue;
        SCOPED_TRACE(fmt::format("{}: {}: {}", row.name, test.name, extras.name));
        expect_close(conv, extras);
        ++runs[row.name];
      }
    }
  }
  EXPECT_GE(runs["conv3d_mma_pictures"], 20);
  const bool hopper = has_hopper_rows(GetParam());
  EXPECT_GE(runs["conv3d_sm90"], hopper ? 20 : 0);
  EXPECT_GE(runs["conv3d_sm90_pictures"], hopper ? 3 : 0);
}

TEST_P(CudaConvKernels, LeavesOutAMissingBias) {
  ZOETROPE_NEEDS_GPU();
  Conv conv({.operands = GetParam()}, shape({1, 3, 4}, {5, 50}, {3, 3, 3}), true, 1);
  conv.data.bias.clear();
  expect_close(conv, {});
}

TEST_P(CudaConvKernels, GivesTheSameBitsInPlace) {
  ZOETROPE_NEEDS_GPU();
  for (const int64_t c_out : {3, 50, 96, 192, 384}) {
    const Conv conv({.operands = GetParam()}, shape({2, 9, 20}, {5, c_out}, {3, 3, 3}), true, 2);
    ConvExtras extras = {.residual = true, .shortcut = true, .norm = true, .silu = true};
    const ConvResult apart = conv.run(extras);
    for (const Alias alias : {Alias::kRaw, Alias::kActivated}) {
      extras.residual_is = alias;
      EXPECT_TRUE(same_bits(conv.run(extras), apart)) << c_out;
    }
  }
}

TEST_P(CudaConvKernels, GivesTheSameBitsEveryTime) {
  ZOETROPE_NEEDS_GPU();
  for (const int64_t channels : {96, 192, 384}) {
    const Conv conv({.operands = GetParam()}, shape({2, 33, 47}, {channels, channels}, {3, 3, 3}),
                    true, 3);
    const ConvExtras extras = {.residual = true, .norm = true, .silu = true};
    const ConvResult once = conv.run(extras);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(conv.run(extras), once)) << channels;
  }
}

// Frames [first, first + frames) of a conv, with what lies before them as history.
Conv piece_of(const Conv& whole, int64_t first, int64_t frames) {
  Conv piece = whole;
  std::vector<float> all = whole.data.history;
  all.insert(all.end(), whole.data.x.begin(), whole.data.x.end());
  const int64_t kept = std::ssize(whole.data.history);
  const auto begin = all.begin() + first * whole.data.plane();
  piece.data.shape.frames = frames;
  piece.data.history.assign(begin, begin + kept);
  piece.data.x.assign(begin + kept, begin + kept + frames * whole.data.plane());
  const int64_t pixels = piece.data.output_pixels();
  const int64_t first_pixel = first * pixels / frames;
  const auto slice = [&](std::vector<float>& values, int64_t channels) {
    values = {values.begin() + first_pixel * channels,
              values.begin() + (first_pixel + pixels) * channels};
  };
  slice(piece.data.residual, whole.data.shape.c_out);
  slice(piece.data.shortcut, whole.data.shape.c_shortcut);
  return piece;
}

// The most that the conv's row does.
std::optional<ConvExtras> richest_extras(const Conv& conv) {
  for (const bool residual : {true, false}) {
    for (const bool shortcut : {residual, false}) {
      const ConvExtras extras = {
          .residual = residual, .shortcut = shortcut, .norm = true, .silu = true};
      if (conv.is_run_by(*conv.kernel, extras)) return extras;
    }
  }
  if (conv.is_run_by(*conv.kernel, {})) return ConvExtras{};
  return std::nullopt;
}

void expect_same_bits_cut_in_time(const Conv& whole, const ConvExtras& extras) {
  const ConvResult expected = whole.run(extras);
  for (const int64_t step : {whole.data.shape.stride_time, int64_t{4}}) {
    ConvResult pieces;
    for (int64_t frame = 0; frame < whole.data.shape.frames; frame += step) {
      const auto [y, activated] = piece_of(whole, frame, step).run(extras);
      pieces.y.insert(pieces.y.end(), y.begin(), y.end());
      pieces.activated.insert(pieces.activated.end(), activated.begin(), activated.end());
    }
    EXPECT_TRUE(same_bits(pieces, expected)) << step;
  }
}

// On every row, with whatever of these it takes.
TEST_P(CudaConvKernels, GivesTheSameBitsForAnyCutInTime) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<Shape> shapes = {
      shape({8, 5, 9}, {20, 50}, {3, 3, 3}),
      shape({8, 3, 2}, {20, 50}, {3, 1, 1}),
      shape({8, 9, 17}, {3, 96}, {3, 3, 3}),
      with_shortcut_channels(shape({8, 9, 17}, {96, 96}, {3, 3, 3}), 96),
      shape({8, 5, 9}, {96, 3}, {3, 3, 3}),
      down_in_time(shape({8, 3, 3}, {130, 7}, {3, 1, 1})),
      down_in_time(shape({8, 9, 7}, {192, 192}, {3, 1, 1})),
      interleaved(shape({8, 3, 3}, {20, 50}, {3, 1, 1})),
      interleaved(shape({8, 3, 7}, {384, 384}, {3, 1, 1})),
      phases(shape({8, 3, 3}, {20, 50}, {3, 2, 2})),
      phases(shape({8, 5, 9}, {192, 96}, {1, 2, 2}))};
  std::map<std::string, int> runs;
  for (const cuda::ConvKernel& row : cuda::conv_kernels()) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      Conv whole({.operands = GetParam()}, shapes[i], true, 4);
      whole.kernel = &row;
      const std::optional<ConvExtras> extras = richest_extras(whole);
      if (!extras) continue;
      SCOPED_TRACE(fmt::format("{}: shape {}", row.name, i));
      expect_same_bits_cut_in_time(whole, *extras);
      ++runs[row.name];
    }
  }
  EXPECT_EQ(runs["conv3d_mma"], std::ssize(shapes));
  EXPECT_GE(runs["conv3d_mma_pictures"], 1);
  const bool hopper = has_hopper_rows(GetParam());
  EXPECT_GE(runs["conv3d_sm90"], hopper ? 5 : 0);
  EXPECT_GE(runs["conv3d_sm90_pictures"], hopper ? 1 : 0);
}

TEST_P(CudaConvKernels, GivesTheSameBitsForAnyCutInSpace) {
  ZOETROPE_NEEDS_GPU();
  constexpr int64_t kRows = 14, kFirst = 5, kCut = 9, kWidth = 11, kOut = 50;
  const Conv whole({.operands = GetParam()}, shape({1, kRows, kWidth}, {70, kOut}, {1, 3, 3}), true,
                   5);
  const std::vector<float> expected = whole.run({}).y;
  Conv cut = whole;
  cut.data.x.erase(cut.data.x.begin(), cut.data.x.begin() + kFirst * kWidth * 70);
  cut.data.x.resize(kCut * kWidth * 70);
  cut.data.shape.height = cut.data.shape.out_height = kCut;
  const std::vector<float> part = cut.run({}).y;
  // All rows but the cut's first and last, whose neighbours it lacks.
  EXPECT_TRUE(zoetrope::same_bits(
      std::span(part).subspan(kWidth * kOut, (kCut - 2) * kWidth * kOut),
      std::span(expected).subspan((kFirst + 1) * kWidth * kOut, (kCut - 2) * kWidth * kOut)));
}

TEST_P(CudaConvKernels, SkipsZeroHistoryWithoutAnyDifference) {
  ZOETROPE_NEEDS_GPU();
  const Conv skipping({.operands = GetParam()}, shape({1, 5, 7}, {33, 50}, {3, 3, 3}, 2), false, 6);
  Conv all_taps = skipping;
  all_taps.data.shape.first_tap = 0;
  all_taps.data.history.resize(static_cast<size_t>(2 * all_taps.data.plane()));
  EXPECT_TRUE(same_bits(all_taps.run({}), skipping.run({})));
}

INSTANTIATE_TEST_SUITE_P(Types, CudaConvKernels,
                         testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(CudaConvKernels, TakesResultsOfOtherTypesThanTheOperands) {
  ZOETROPE_NEEDS_GPU();
  const ConvTypes types[] = {
      {.operands = DType::kFloat16, .raw = DType::kBFloat16, .activated = DType::kFloat16},
      {.operands = DType::kBFloat16, .raw = DType::kFloat16, .activated = DType::kFloat32}};
  for (const ConvTypes& of : types) {
    const Conv conv(of, shape({1, 5, 17}, {24, 96}, {3, 3, 3}), true, 7);
    expect_close(conv, {.residual = true, .norm = true, .silu = true});
  }
}

}  // namespace
}  // namespace zoetrope
