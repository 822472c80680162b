// SPDX-License-Identifier: Apache-2.0
#include "media/array_video.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/dtype.h"
#include "checkpoint/safetensors.h"
#include "media/npy.h"
#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kFrames = 5, kHeight = 3, kWidth = 4, kPlane = kHeight * kWidth;
constexpr int64_t kCount = 3 * kFrames * kPlane;

// Of pixel `pixel` of channel `channel` in frame `frame`: all different, some below 0.
float value_at(int64_t frame, int64_t channel, int64_t pixel) {
  return static_cast<float>((frame * 3 + channel) * kPlane + pixel) / 128 - 0.5F;
}

int64_t index_in(Layout layout, int64_t frame, int64_t channel, int64_t pixel) {
  switch (layout) {
    case Layout::kTHWC:
      return (frame * kPlane + pixel) * 3 + channel;
    case Layout::kTCHW:
      return (frame * 3 + channel) * kPlane + pixel;
    case Layout::kCTHW:
      break;
  }
  return (channel * kFrames + frame) * kPlane + pixel;
}

std::vector<int64_t> shape_in(Layout layout) {
  switch (layout) {
    case Layout::kTHWC:
      return {kFrames, kHeight, kWidth, 3};
    case Layout::kTCHW:
      return {kFrames, 3, kHeight, kWidth};
    case Layout::kCTHW:
      break;
  }
  return {3, kFrames, kHeight, kWidth};
}

template <typename Visit>
void for_each_value(Visit&& visit) {
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t pixel = 0; pixel < kPlane; ++pixel) visit(frame, channel, pixel);
    }
  }
}

std::string data_in(Layout layout, DType dtype, float offset = 0) {
  std::string data(static_cast<size_t>(kCount * size_of(dtype)), '\0');
  for_each_value([&](int64_t frame, int64_t channel, int64_t pixel) {
    const int64_t index = index_in(layout, frame, channel, pixel);
    const float value = value_at(frame, channel, pixel) + offset;
    if (dtype == DType::kUInt8) {
      data[static_cast<size_t>(index)] = static_cast<char>((value + 0.5F) * 128);
    } else if (dtype == DType::kFloat64) {
      const double wide = value;
      std::memcpy(data.data() + index * 8, &wide, 8);
    } else {
      store_from_float(data.data(), dtype, index, value);
    }
  });
  return data;
}

class ArrayVideoTest : public testing::Test {
 protected:
  std::string npy(Layout layout, DType dtype, float offset = 0) {
    const std::string path = folder_.file("a.npy");
    write_bytes(path, npy_header(dtype, shape_in(layout)) + data_in(layout, dtype, offset));
    return path;
  }
  std::string npy_of_shape(const std::vector<int64_t>& shape) {
    const std::string path = folder_.file("a.npy");
    std::string data = data_in(Layout::kCTHW, DType::kFloat32);
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    data.resize(static_cast<size_t>(count * 4));
    write_bytes(path, npy_header(DType::kFloat32, shape) + data);
    return path;
  }
  ScratchFolder folder_;
};

void expect_values(const Clip& clip, int64_t first, int64_t frames) {
  ASSERT_EQ(clip.frames, frames);
  EXPECT_EQ(clip.info.frames, frames);
  EXPECT_EQ(clip.info.height, kHeight);
  EXPECT_EQ(clip.info.width, kWidth);
  for_each_value([&](int64_t frame, int64_t channel, int64_t pixel) {
    if (frame < first || frame >= first + frames) return;
    const int64_t index = index_in(clip.info.format.layout, frame - first, channel, pixel);
    ASSERT_EQ(clip.values[static_cast<size_t>(index)], value_at(frame, channel, pixel));
  });
}

TEST_F(ArrayVideoTest, ReadsEveryLayout) {
  for (const Layout layout : {Layout::kTHWC, Layout::kTCHW, Layout::kCTHW}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Clip clip = read_clip(npy(layout, dtype), {.array_layout = layout}, 2);
      EXPECT_EQ(clip.info.format.layout, layout == Layout::kTHWC ? Layout::kTHWC : Layout::kTCHW);
      EXPECT_EQ(clip.info.format.dtype, DType::kFloat32);
      EXPECT_EQ(clip.info.format.range, Range::kSigned);
      expect_values(clip, 0, kFrames);
    }
  }
}

TEST_F(ArrayVideoTest, DefaultsFollowTheType) {
  const Clip floats = read_clip(npy(Layout::kCTHW, DType::kFloat32));
  EXPECT_EQ(floats.info.format.layout, Layout::kTCHW);
  const Clip bytes = read_clip(npy(Layout::kTHWC, DType::kUInt8));
  EXPECT_EQ(bytes.info.format.layout, Layout::kTHWC);
  EXPECT_EQ(bytes.info.format.range, Range::kBytes);
  const std::string expected = data_in(Layout::kTHWC, DType::kUInt8);
  EXPECT_EQ(std::string(bytes.bytes.begin(), bytes.bytes.end()), expected);
}

TEST_F(ArrayVideoTest, HalfPrecisionStaysAsItIs) {
  const std::unique_ptr<VideoReader> reader =
      open_array_reader(npy(Layout::kCTHW, DType::kFloat16), {});
  EXPECT_EQ(reader->info().format.dtype, DType::kFloat16);
}

TEST_F(ArrayVideoTest, ReadsARangeOfFrames) {
  expect_values(read_clip(npy(Layout::kCTHW, DType::kFloat32), {.range = {1, 4}}), 1, 3);
  const Clip short_clip = read_clip(npy(Layout::kCTHW, DType::kFloat32), {.range = {2, 99}});
  expect_values(short_clip, 2, 3);
  EXPECT_TRUE(short_clip.said("--frames 2:99: there are 5 frames"));
  EXPECT_FALSE(read_clip(npy(Layout::kCTHW, DType::kFloat32), {.range = {2, 5}}).said("--frames"));
  const Error error = error_of([&] {
    read_clip(npy(Layout::kCTHW, DType::kFloat32), {.range = {5, {}}});
  });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
}

TEST_F(ArrayVideoTest, AssumesARateAndSaysSo) {
  const Clip assumed = read_clip(npy(Layout::kCTHW, DType::kFloat32));
  EXPECT_FALSE(assumed.info.rate_known);
  EXPECT_EQ(assumed.info.rate, (FrameRate{16, 1}));
  EXPECT_TRUE(assumed.said("16 assumed"));
  const Clip given = read_clip(npy(Layout::kCTHW, DType::kFloat32), {.rate = FrameRate{24, 1}});
  EXPECT_TRUE(given.info.rate_known);
  EXPECT_TRUE(given.notices.empty());
}

TEST_F(ArrayVideoTest, RefusesFloatsThatMayBeZeroToOne) {
  const std::string path = npy(Layout::kCTHW, DType::kFloat32, 0.5F);
  const Error error = error_of([&] { read_clip(path); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(error.what()).find("--range unit"), std::string::npos);
  EXPECT_EQ(read_clip(path, {.array_range = Range::kUnit}).info.format.range, Range::kUnit);
  EXPECT_EQ(read_clip(path, {.array_range = Range::kSigned}).info.format.range, Range::kSigned);
}

TEST_F(ArrayVideoTest, SaysSoIfValuesAreFarOutside) {
  EXPECT_FALSE(read_clip(npy(Layout::kCTHW, DType::kFloat32, -1)).said("taken as they are"));
  const std::string path = npy(Layout::kCTHW, DType::kFloat32, -300);
  EXPECT_TRUE(read_clip(path).said("values from -300.5 to 0 are taken as they are, for -1 to 1"));
  EXPECT_TRUE(read_clip(path, {.array_range = Range::kUnit}).said("for 0 to 1 (--range)"));
  EXPECT_LT(read_clip(path, {.size = FrameSize{6, 8}}).values.at(0), -299) << "as without";
  const std::string far = npy(Layout::kCTHW, DType::kFloat16, 255);
  EXPECT_TRUE(read_clip(far, {.array_range = Range::kSigned}).said("values from 0 to 255."));
}

// In the frames that are read: they may be the good part of an array.
TEST_F(ArrayVideoTest, RefusesValuesThatAreNotFinite) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
    for (const Layout layout : {Layout::kCTHW, Layout::kTCHW, Layout::kTHWC}) {
      std::string data = data_in(layout, dtype);
      const int64_t bad = index_in(layout, 3, 1, 7);
      if (dtype == DType::kFloat64) {
        const double nan = std::nan("");
        std::memcpy(data.data() + bad * 8, &nan, 8);
      } else {
        store_from_float(data.data(), dtype, bad, std::nanf(""));
      }
      const std::string path = folder_.file("a.npy");
      write_bytes(path, npy_header(dtype, shape_in(layout)) + data);
      ReadOptions options = {.array_layout = layout};
      const Error error = error_of([&] { open_video_reader(path, options); });
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_NE(std::string(error.what()).find("found nan at ["), std::string::npos)
          << error.what();
      options.array_range = Range::kSigned;
      EXPECT_EQ(error_of([&] { open_video_reader(path, options); }).code(), ErrorCode::kIo);
      options.range = {0, 3};
      EXPECT_EQ(open_video_reader(path, options)->info().frames, 3);
      options.range = {};
      options.array_any_value = true;
      EXPECT_EQ(open_video_reader(path, options)->info().frames, kFrames);
    }
  }
}

// Of several blocks; and only those that are read.
TEST_F(ArrayVideoTest, CountsAllValuesThatAreNotFinite) {
  constexpr int64_t kLarge = 1024;
  const int64_t plane = kLarge * kLarge;
  std::string data(static_cast<size_t>(3 * 2 * plane * 4), '\0');
  for (int64_t i = 0; i < 3 * 2 * plane; ++i) {
    store_from_float(data.data(), DType::kFloat32, i, i % 2 == 0 ? std::nanf("") : INFINITY);
  }
  const std::string path = folder_.file("a.npy");
  write_bytes(path, npy_header(DType::kFloat32, std::vector<int64_t>{3, 2, kLarge, kLarge}) + data);
  const auto expect = [&](const std::string& part, const FrameRange& range) {
    const Error error = error_of([&] { open_video_reader(path, {.range = range}); });
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  };
  expect("found nan at [0,0,0,0], the first of 6291456:", {});
  expect("found nan at [0,1,0,0], the first of 3145728:", {1, 2});
}

TEST_F(ArrayVideoTest, TakesAnyValueIfAsked) {
  write_bytes(folder_.file("a.npy"), npy_header(DType::kFloat32, shape_in(Layout::kCTHW)) +
                                         data_in(Layout::kCTHW, DType::kFloat32, 1));
  EXPECT_EQ(error_of([&] { open_video_reader(folder_.file("a.npy"), {}); }).code(),
            ErrorCode::kInvalidArgument);
  const auto reader = open_video_reader(folder_.file("a.npy"), {.array_any_value = true});
  EXPECT_EQ(reader->info().format.range, Range::kSigned);
}

TEST_F(ArrayVideoTest, RefusesRangesThatDoNotFitTheType) {
  const Error floats = error_of(
      [&] { read_clip(npy(Layout::kCTHW, DType::kFloat32), {.array_range = Range::kBytes}); });
  EXPECT_EQ(floats.code(), ErrorCode::kInvalidArgument);
  const Error bytes = error_of(
      [&] { read_clip(npy(Layout::kTHWC, DType::kUInt8), {.array_range = Range::kUnit}); });
  EXPECT_EQ(bytes.code(), ErrorCode::kInvalidArgument);
}

TEST_F(ArrayVideoTest, RefusesOtherShapes) {
  const std::vector<std::vector<int64_t>> shapes = {{4, 3, 2, 2},    {3, 2, 2}, {3, 0, 2, 2},
                                                    {2, 3, 1, 2, 2}, {1},       {}};
  for (const std::vector<int64_t>& shape : shapes) {
    const Error error = error_of([&] { read_clip(npy_of_shape(shape)); });
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("[3, T, H, W]"), std::string::npos) << error.what();
  }
  EXPECT_EQ(read_clip(npy_of_shape({1, 3, 2, 2, 2})).frames, 2);
}

TEST_F(ArrayVideoTest, TakesTheTensorNamedVideoOrTheOnlyOne) {
  std::string data = data_in(Layout::kCTHW, DType::kFloat32);
  const TensorView view = {data.data(), DType::kFloat32, {}, shape_in(Layout::kCTHW), {}};
  const std::string path = folder_.file("a.safetensors");
  write_safetensors(path, {{"other", view, {}}, {"video", view, {}}}, {});
  expect_values(read_clip(path), 0, kFrames);
  write_safetensors(path, {{"anything", view, {}}}, {});
  expect_values(read_clip(path), 0, kFrames);
  write_safetensors(path, {{"a", view, {}}, {"b", view, {}}}, {});
  EXPECT_EQ(error_of([&] { read_clip(path); }).code(), ErrorCode::kIo);
}

TEST_F(ArrayVideoTest, ABrokenFileIsABrokenInput) {
  write_bytes(folder_.file("a.safetensors"), std::string("\x20\0\0\0\0\0\0\0{\"video\": 1", 19));
  EXPECT_EQ(error_of([&] { read_clip(folder_.file("a.safetensors")); }).code(), ErrorCode::kIo);
}

TEST_F(ArrayVideoTest, LatentsAreNotAVideo) {
  std::vector<float> values(16 * 4, -1.0F);
  const std::string path = folder_.file("a.safetensors");
  write_safetensors(path, {{"latent", {values.data(), DType::kFloat32, {}, {16, 1, 2, 2}, {}}, {}}},
                    {});
  const Error error = error_of([&] { read_clip(path); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(error.what()).find("zoetrope decode"), std::string::npos);
}

TEST_F(ArrayVideoTest, WritesWhatItReads) {
  const std::string frames = data_in(Layout::kTCHW, DType::kFloat32);
  const int64_t bytes = 12 * kPlane;
  for (const char* name : {"out.npy", "out.safetensors"}) {
    for (const std::optional<int64_t> promised : {std::optional<int64_t>(), {kFrames}, {99}}) {
      const std::unique_ptr<VideoWriter> writer = open_video_writer(
          folder_.file(name), {.height = kHeight, .width = kWidth, .frames = promised});
      EXPECT_EQ(writer->format().layout, Layout::kTCHW);
      writer->write(2, frames.data());
      writer->write(3, frames.data() + 2 * bytes);
      EXPECT_FALSE(std::ifstream(folder_.file(name)).good()) << "visible before it is whole";
      writer->finish();
      expect_values(read_clip(folder_.file(name)), 0, kFrames);
      std::filesystem::remove(folder_.file(name));
    }
  }
}

TEST_F(ArrayVideoTest, LeavesNothingBehindUnfinished) {
  for (const char* name : {"out.npy", "out.safetensors"}) {
    const std::unique_ptr<VideoWriter> writer =
        open_video_writer(folder_.file(name), {.height = kHeight, .width = kWidth});
    writer->write(1, data_in(Layout::kTCHW, DType::kFloat32).data());
  }
  EXPECT_TRUE(folder_.names().empty());
}

}  // namespace
}  // namespace zoetrope::media
