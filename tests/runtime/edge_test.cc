// SPDX-License-Identifier: Apache-2.0
// The caller's tensors: layouts, ranges, types, batches, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dtype.h"
#include "checkpoint/checkpoint.h"
#include "tests/support/golden.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHeight = 16;
constexpr int64_t kWidth = 24;

const Autoencoder& model() {
  static const Autoencoder loaded = Autoencoder::load("random:8:3");
  return loaded;
}

Array random_array(std::vector<int64_t> shape, uint64_t seed) {
  Array array = Array::zeros(std::move(shape));
  const RandomSequence random("array", seed);
  for (size_t i = 0; i < array.values.size(); ++i) array.values[i] = random.at(i);
  return array;
}

VideoFormat float_format(Layout layout, Range range = Range::kSigned) {
  return {.layout = layout, .range = range, .dtype = DType::kFloat32};
}

Array encode(const TensorView& video, const VideoFormat& format, std::vector<int64_t> shape,
             LatentScale scale = LatentScale::kNormalized) {
  Array latent = Array::zeros(std::move(shape));
  model().encode(video, {.latent = latent.view(), .mean = {}, .logvar = {}},
                 {.video = format, .scale = scale});
  return latent;
}

// The same numbers with their axes in another order.
Array permuted(const Array& from, const std::vector<size_t>& axes) {
  Array to;
  std::vector<int64_t> strides(4, 1);
  for (size_t i = 4; i-- > 1;) strides[i - 1] = strides[i] * from.shape[i];
  for (const size_t axis : axes) to.shape.push_back(from.shape[axis]);
  for (int64_t a = 0; a < to.shape[0]; ++a) {
    for (int64_t b = 0; b < to.shape[1]; ++b) {
      for (int64_t c = 0; c < to.shape[2]; ++c) {
        for (int64_t d = 0; d < to.shape[3]; ++d) {
          const int64_t index = a * strides[axes[0]] + b * strides[axes[1]] + c * strides[axes[2]] +
                                d * strides[axes[3]];
          to.values.push_back(from.values[static_cast<size_t>(index)]);
        }
      }
    }
  }
  return to;
}

TEST(Layouts, OfTheSameVideoGiveTheSameLatents) {
  Array cthw = random_array({3, 5, kHeight, kWidth}, 1);
  Array thwc = permuted(cthw, {1, 2, 3, 0});
  Array tchw = permuted(cthw, {1, 0, 2, 3});
  const Array expected = encode(cthw.view(), float_format(Layout::kCTHW), {16, 2, 2, 3});
  EXPECT_EQ(encode(thwc.view(), float_format(Layout::kTHWC), {16, 2, 2, 3}).values,
            expected.values);
  EXPECT_EQ(encode(tchw.view(), float_format(Layout::kTCHW), {16, 2, 2, 3}).values,
            expected.values);
}

TEST(Ranges, OfTheSameVideoGiveTheSameLatents) {
  Array bytes = random_array({5, kHeight, kWidth, 3}, 2);
  Array signed_values = bytes;
  std::vector<uint8_t> levels;
  for (size_t i = 0; i < bytes.values.size(); ++i) {
    levels.push_back(static_cast<uint8_t>((bytes.values[i] + 1) * 127.5F));
    signed_values.values[i] = static_cast<float>(levels.back()) / 127.5F - 1;
  }
  const TensorView uint8_view = {.data = levels.data(),
                                 .dtype = DType::kUInt8,
                                 .device = {},
                                 .shape = bytes.shape,
                                 .strides = {}};
  EXPECT_EQ(encode(uint8_view, {}, {16, 2, 2, 3}).values,
            encode(signed_values.view(), float_format(Layout::kTHWC), {16, 2, 2, 3}).values);
}

TEST(LatentScale, NormalizesTheRawMean) {
  Array video = random_array({1, kHeight, kWidth, 3}, 3);
  const VideoFormat format = float_format(Layout::kTHWC);
  const Array raw = encode(video.view(), format, {16, 1, 2, 3}, LatentScale::kRaw);
  const Array normalized = encode(video.view(), format, {16, 1, 2, 3});
  const ModelInfo& info = model().info();
  for (size_t i = 0; i < raw.values.size(); ++i) {
    const size_t c = i / 6;
    EXPECT_NEAR(normalized.values[i], (raw.values[i] - info.latents_mean[c]) / info.latents_std[c],
                1e-5);
  }
}

TEST(Decode, WritesEveryFormatOfTheSameFrames) {
  Array latents = random_array({16, 2, 2, 3}, 4);
  Array video = Array::zeros({5, kHeight, kWidth, 3});
  model().decode(latents.view(), video.view(), {.video = float_format(Layout::kTHWC)});
  std::vector<uint8_t> bytes(video.values.size());
  const TensorView byte_view = {.data = bytes.data(),
                                .dtype = DType::kUInt8,
                                .device = {},
                                .shape = video.shape,
                                .strides = {}};
  model().decode(latents.view(), byte_view, {});
  std::vector<uint16_t> half(video.values.size());
  const TensorView half_view = {.data = half.data(),
                                .dtype = DType::kFloat16,
                                .device = {},
                                .shape = video.shape,
                                .strides = {}};
  model().decode(
      latents.view(), half_view,
      {.video = {.layout = Layout::kTHWC, .range = Range::kUnit, .dtype = DType::kFloat16}});
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_LE(std::abs(video.values[i]), 1);
    EXPECT_EQ(bytes[i], std::nearbyint((video.values[i] + 1) * 127.5F));
    EXPECT_EQ(half[i], float_to_float16((video.values[i] + 1) * 0.5F));
  }
}

TEST(Decode, ClampsUnlessToldOtherwise) {
  Array latents = random_array({16, 1, 2, 3}, 5);
  for (float& value : latents.values) value *= 100;
  Array clamped = Array::zeros({1, kHeight, kWidth, 3});
  Array free = clamped;
  const VideoFormat format = float_format(Layout::kTHWC);
  model().decode(latents.view(), clamped.view(), {.video = format});
  model().decode(latents.view(), free.view(), {.video = format, .clamp = false});
  bool beyond = false;
  for (size_t i = 0; i < free.values.size(); ++i) {
    EXPECT_EQ(clamped.values[i], std::clamp(free.values[i], -1.F, 1.F));
    beyond |= std::abs(free.values[i]) > 1;
  }
  EXPECT_TRUE(beyond);
}

TEST(Batches, AreClipsOneAfterAnother) {
  for (const int64_t frames : {1, 5}) {
    Array batch = random_array({3, 3, frames, kHeight, kWidth}, 6);
    const int64_t latent_frames = 1 + (frames - 1) / 4;
    Array together = Array::zeros({3, 16, latent_frames, 2, 3});
    model().encode(batch.view(), {.latent = together.view(), .mean = {}, .logvar = {}},
                   {.video = float_format(Layout::kCTHW)});
    Array decoded = Array::zeros({3, 3, frames, kHeight, kWidth});
    model().decode(together.view(), decoded.view(), {.video = float_format(Layout::kCTHW)});
    const size_t clip = batch.values.size() / 3;
    const size_t latent = together.values.size() / 3;
    for (size_t i = 0; i < 3; ++i) {
      Array one = {{3, frames, kHeight, kWidth},
                   {batch.values.begin() + static_cast<int64_t>(i * clip),
                    batch.values.begin() + static_cast<int64_t>((i + 1) * clip)}};
      Array alone = encode(one.view(), float_format(Layout::kCTHW), {16, latent_frames, 2, 3});
      EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(),
                             together.values.begin() + static_cast<int64_t>(i * latent)));
      model().decode(alone.view(), one.view(), {.video = float_format(Layout::kCTHW)});
      EXPECT_TRUE(std::equal(one.values.begin(), one.values.end(),
                             decoded.values.begin() + static_cast<int64_t>(i * clip)));
    }
  }
}

// The error of encoding `video` as the test describes it.
std::string encode_error(TensorView video, const StreamOptions& options,
                         std::vector<int64_t> latent_shape = {16, 1, 2, 3}) {
  Array latent = Array::zeros(std::move(latent_shape));
  try {
    model().encode(video, {.latent = latent.view(), .mean = {}, .logvar = {}}, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(Encode, RefusesWhatDoesNotFit) {
  const StreamOptions options = {.video = float_format(Layout::kCTHW)};
  Array odd = Array::zeros({3, 1, 12, kWidth});
  EXPECT_THAT(encode_error(odd.view(), options), HasSubstr("multiples of 8, found 24x12"));
  Array four = Array::zeros({3, 4, kHeight, kWidth});
  EXPECT_THAT(encode_error(four.view(), options), HasSubstr("4k + 1 frames, found 4"));
  Array gray = Array::zeros({1, 1, kHeight, kWidth});
  EXPECT_THAT(encode_error(gray.view(), options), HasSubstr("found [1,1,16,24]"));
  Array good = Array::zeros({3, 1, kHeight, kWidth});
  EXPECT_THAT(encode_error(good.view(), options, {16, 2, 2, 3}), HasSubstr("latent: expected"));
  EXPECT_THAT(encode_error(good.view(), {}), HasSubstr("expected"));
  TensorView null = good.view();
  null.data = nullptr;
  EXPECT_THAT(encode_error(null, options), HasSubstr("null pointer"));
  TensorView flat = good.view();
  flat.shape = {3};
  EXPECT_THAT(encode_error(flat, options), HasSubstr("expected 4 axes"));
  StreamOptions bytes = options;
  bytes.video.dtype = DType::kUInt8;
  EXPECT_THAT(encode_error(good.view(), bytes), HasSubstr("video format"));
  StreamOptions negative = options;
  negative.frames_per_step = -1;
  EXPECT_THAT(encode_error(good.view(), negative), HasSubstr("frames_per_step"));
}

TEST(OpenEncode, RefusesSizesThatNoMachineHolds) {
  for (const int64_t frames : {0, 1, 1000}) {
    try {
      model().open_encode({.height = 1 << 20, .width = 1 << 20, .frames_per_step = frames});
      FAIL() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
    }
  }
  EXPECT_THROW(model().open_encode({.height = int64_t{1} << 62, .width = 8}), Error);
  EXPECT_THROW(model().open_encode({.height = -8, .width = 8}), Error);
}

}  // namespace
}  // namespace zoetrope::testing
