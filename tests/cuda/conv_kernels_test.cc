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
#include "tests/cuda/device_buffers.h"
#include "tests/reference/conv3d.h"
#include "tests/reference/pointwise.h"

namespace zoetrope {
namespace {

using cuda::Conv3dArgs;
using cuda::Conv3dStore;

// Sizes, taps and strides as the reference has them.
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

// Types of the results where they are not the operands'.
struct Types {
  DType operands = DType::kFloat32;
  std::optional<DType> raw = {};  // of the residual too
  std::optional<DType> activated = {};
};

class Conv {
 public:
  Conv(const Types& of, const Shape& conv_shape, bool history, uint64_t seed)
      : types(of), data(of.operands, conv_shape, history, seed) {
    data.residual = rounded_to(raw_type({}), data.residual);
  }

  DType raw_type(const ConvExtras& extras) const {
    return extras.raw_float32 ? DType::kFloat32 : types.raw.value_or(types.operands);
  }
  DType activated_type() const { return types.activated.value_or(types.operands); }
  int64_t outputs() const { return data.output_pixels() * data.shape.c_out; }

  ConvResult run(const ConvExtras& extras) const {
    const bool has_history = !data.history.empty();
    const DeviceBytes x(types.operands, data.x), history(types.operands, data.history);
    const DeviceBytes shortcut(types.operands, data.shortcut);
    const DeviceBytes bias(DType::kFloat32, data.bias), gamma(DType::kFloat32, data.gamma);
    const bool in_raw = extras.residual_is == Alias::kRaw;
    const bool in_activated = extras.residual_is == Alias::kActivated;
    const DeviceOutput y = output(raw_type(extras), in_raw);
    const DeviceOutput activated = output(activated_type(), in_activated);
    const DeviceBytes residual(raw_type({}), data.residual);
    Conv3dArgs args = arguments();
    args.x = x.data();
    args.history = has_history ? history.data() : nullptr;
    args.bias = data.bias.empty() ? nullptr : bias.floats();
    args.shortcut = extras.shortcut ? shortcut.data() : nullptr;
    args.residual_type = in_activated ? activated_type() : in_raw ? raw_type(extras) : raw_type({});
    if (extras.residual) {
      args.residual = in_activated ? activated.data() : in_raw ? y.data() : residual.data();
    }
    args.gamma = extras.norm ? gamma.floats() : nullptr;
    args.silu = extras.silu;
    args.y_type = raw_type(extras);
    args.activated_type = activated_type();
    args.y = extras.raw ? y.data() : nullptr;
    args.activated = extras.norm ? activated.data() : nullptr;
    launch(args);
    ConvResult result;
    if (extras.raw) result.y = y.values();
    if (extras.norm) result.activated = activated.values();
    return result;
  }

  // Whether `row` runs this conv with these extras. Frames of odd sizes have no planes by parity.
  bool is_run_by(const cuda::ConvKernel& row, const ConvExtras& extras) const {
    static char there = 0;
    Conv3dArgs args = arguments();
    args.residual_type = raw_type({});
    args.y_type = raw_type(extras);
    args.activated_type = activated_type();
    if (extras.residual) args.residual = &there;
    if (extras.shortcut) args.shortcut = &there;
    if (!extras.shortcut) args.c_shortcut = 0;
    if (extras.norm) args.gamma = reinterpret_cast<const float*>(&there);
    if (extras.norm) args.activated = &there;
    if (extras.raw) args.y = &there;
    return row.refusal(args, gpu_capability()).empty() &&
           (args.stride_space == 1 || args.height % 2 + args.width % 2 == 0);
  }

  Types types;
  ConvCase data;
  const cuda::ConvKernel* kernel = &cuda::conv_kernels().back();

 private:
  void launch(Conv3dArgs args) const {
    const Shape& s = data.shape;
    const cuda::ConvLayout layout = {.kernel = kernel->name,
                                     .operands = types.operands,
                                     .variant = kernel->layout_variant(args),
                                     .parts = data.parts()};
    const DeviceBytes weight(kernel->pack(
        layout, {data.filters(), s.c_in, s.kernel_time, s.kernel_height, s.kernel_width},
        data.weight.data()));
    cuda::ConvLayout of_shortcut = layout;
    of_shortcut.parts = 1;
    const DeviceBytes shortcut_weight(
        args.shortcut == nullptr ? std::vector<std::byte>()
                                 : kernel->pack(of_shortcut, {s.c_out, s.c_shortcut, 1, 1, 1},
                                                data.shortcut_weight.data()));
    const int64_t pixels = (s.frames + s.kernel_time) * s.height * s.width;
    const DeviceOutput workspace(types.operands, pixels * kernel->workspace_per_pixel);
    args.weight = weight.data();
    args.shortcut_weight = shortcut_weight.data();
    args.workspace = workspace.data();
    cuda::check(kernel->run(args, nullptr), kernel->name);
    cuda::check(cudaDeviceSynchronize(), kernel->name);
  }

  Conv3dArgs arguments() const {
    const Shape& s = data.shape;
    return {.operands = types.operands,
            .frames = s.frames,
            .height = s.height,
            .width = s.width,
            .c_in = s.c_in,
            .kernel_time = s.kernel_time,
            .kernel_height = s.kernel_height,
            .kernel_width = s.kernel_width,
            .first_tap = s.first_tap,
            .stride_time = s.stride_time,
            .stride_space = s.stride_space,
            .pad_before = s.pad_before,
            .c_shortcut = s.c_shortcut,
            .store = static_cast<Conv3dStore>(s.store),
            .out_height = s.out_height,
            .out_width = s.out_width,
            .c_out = s.c_out};
  }

  DeviceOutput output(DType dtype, bool holds_residual) const {
    return holds_residual ? DeviceOutput(dtype, data.residual) : DeviceOutput(dtype, outputs());
  }
};

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
  const bool hopper = gpu_capability() == 90 && GetParam() != DType::kFloat32;
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

TEST_P(CudaConvKernels, GivesTheSameBitsForAnyCutInTime) {
  ZOETROPE_NEEDS_GPU();
  for (const Shape& whole_shape :
       {shape({8, 5, 9}, {20, 50}, {3, 3, 3}), shape({8, 3, 2}, {20, 50}, {3, 1, 1}),
        down_in_time(shape({8, 3, 3}, {130, 7}, {3, 1, 1})),
        interleaved(shape({8, 3, 3}, {20, 50}, {3, 1, 1})),
        phases(shape({8, 3, 3}, {20, 50}, {3, 2, 2}))}) {
    const Conv whole({.operands = GetParam()}, whole_shape, true, 4);
    const bool plain = whole_shape.store == cpu::Conv3dStore::kPlain;
    const ConvExtras extras = {.residual = true, .shortcut = plain, .norm = true, .silu = true};
    const ConvResult expected = whole.run(extras);
    for (const int64_t step : {whole_shape.stride_time, int64_t{4}}) {
      ConvResult pieces;
      for (int64_t frame = 0; frame < whole_shape.frames; frame += step) {
        const ConvResult piece = piece_of(whole, frame, step).run(extras);
        pieces.y.insert(pieces.y.end(), piece.y.begin(), piece.y.end());
        pieces.activated.insert(pieces.activated.end(), piece.activated.begin(),
                                piece.activated.end());
      }
      EXPECT_TRUE(same_bits(pieces, expected)) << step;
    }
  }
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
  const Types types[] = {
      {.operands = DType::kFloat16, .raw = DType::kBFloat16, .activated = DType::kFloat16},
      {.operands = DType::kBFloat16, .raw = DType::kFloat16, .activated = DType::kFloat32}};
  for (const Types& of : types) {
    const Conv conv(of, shape({1, 5, 17}, {24, 96}, {3, 3, 3}), true, 7);
    expect_close(conv, {.residual = true, .norm = true, .silu = true});
  }
}

}  // namespace
}  // namespace zoetrope
