// SPDX-License-Identifier: Apache-2.0
// What is written, against what was meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

// Code values of limited range, not rounded.
std::array<double, 3> yuv_of(const std::array<int, 3>& rgb, double red, double blue) {
  const double r = rgb[0] / 255.0;
  const double g = rgb[1] / 255.0;
  const double b = rgb[2] / 255.0;
  const double y = red * r + (1 - red - blue) * g + blue * b;
  return {16 + 219 * y, 128 + 224 * (b - y) / (2 * (1 - blue)),
          128 + 224 * (r - y) / (2 * (1 - red))};
}

constexpr std::array<std::array<int, 3>, 8> kBars = {{{255, 255, 255},
                                                      {255, 255, 0},
                                                      {0, 255, 255},
                                                      {0, 255, 0},
                                                      {255, 0, 255},
                                                      {255, 0, 0},
                                                      {0, 0, 255},
                                                      {37, 140, 91}}};
constexpr int kBarWidth = 32;
constexpr int kWidth = 8 * kBarWidth;

std::vector<uint8_t> bars(int height, int frames) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < frames * height * kWidth; ++i) {
    for (const int value : kBars[static_cast<size_t>(i % kWidth / kBarWidth)]) {
      pixels.push_back(static_cast<uint8_t>(value));
    }
  }
  return pixels;
}

class VideoFileWriterTest : public testing::Test {
 protected:
  // Writes bars and returns the raw planes of the file, as ffmpeg decodes them.
  std::string planes_of(const std::string& name, int height, int frames = 3) {
    const WriteOptions options = {.height = height, .width = kWidth, .rate = {24, 1}};
    write_clip(folder_.file(name), options, bars(height, frames));
    run_ffmpeg("-i " + folder_.file(name) + " -f rawvideo " + folder_.file("planes"));
    return read_bytes(folder_.file("planes"));
  }
  ScratchFolder folder_;
};

// Largest difference in the middle of the bars of a 4:2:0 frame, away from chroma's blurred edges.
double bar_error(const std::string& planes, int height, double red, double blue) {
  double largest = 0;
  for (int bar = 0; bar < 8; ++bar) {
    const std::array<double, 3> expected = yuv_of(kBars[static_cast<size_t>(bar)], red, blue);
    const int x = bar * kBarWidth + kBarWidth / 2;
    const int y = height / 2;
    const int chroma = kWidth * height + y / 2 * (kWidth / 2) + x / 2;
    const std::array<int, 3> at = {y * kWidth + x, chroma, chroma + kWidth * height / 4};
    for (size_t i = 0; i < 3; ++i) {
      const auto found = static_cast<uint8_t>(planes.at(static_cast<size_t>(at[i])));
      largest = std::max(largest, std::abs(found - expected[i]));
    }
  }
  return largest;
}

TEST_F(VideoFileWriterTest, Mp4IsBt709) {
  const std::string planes = planes_of("a.mp4", 64);
  ASSERT_EQ(planes.size(), kWidth * 64U * 3 / 2 * 3);
  EXPECT_LE(bar_error(planes, 64, 0.2126, 0.0722), 1);
  const Clip clip = read_clip(folder_.file("a.mp4"));
  EXPECT_EQ(clip.info.color, "bt709 limited");
  EXPECT_TRUE(clip.notices.empty());
}

TEST_F(VideoFileWriterTest, Y4mIsWhatReadersAssume) {
  EXPECT_LE(bar_error(planes_of("a.y4m", 64), 64, 0.299, 0.114), 1);
  EXPECT_LE(bar_error(planes_of("a.y4m", 720), 720, 0.2126, 0.0722), 1);
}

TEST_F(VideoFileWriterTest, BarsComeBack) {
  for (const char* name : {"a.mp4", "a.y4m"}) {
    planes_of(name, 64);
    const Clip clip = read_clip(folder_.file(name));
    for (int bar = 0; bar < 8; ++bar) {
      const int pixel = 32 * kWidth + bar * kBarWidth + kBarWidth / 2;
      const auto at = static_cast<size_t>(pixel) * 3;
      for (size_t c = 0; c < 3; ++c) {
        // One code of YUV is up to 1.164 + 2.112 (blue, BT.709) of RGB.
        EXPECT_NEAR(clip.bytes.at(at + c), kBars[static_cast<size_t>(bar)][c], 3.3);
      }
    }
  }
}

TEST_F(VideoFileWriterTest, MkvIsLossless) {
  for (const auto& [height, width] :
       {std::pair{48, 64}, {5, 7}, {1, 1}, {33, 2}, {3, 40}, {8, 9}}) {
    const std::vector<uint8_t> pixels = noise(static_cast<size_t>(height * width) * 3 * 4);
    write_clip(folder_.file("a.mkv"), {.height = height, .width = width}, pixels);
    const Clip clip = read_clip(folder_.file("a.mkv"));
    EXPECT_EQ(clip.bytes, pixels) << width << "x" << height;
    EXPECT_EQ(clip.info.color, "rgb");
    EXPECT_TRUE(clip.notices.empty());
  }
}

TEST_F(VideoFileWriterTest, RatesAreExact) {
  for (const char* name : {"a.mp4", "a.mkv", "a.y4m"}) {
    for (const char* rate : {"16", "24000/1001", "30000/1001", "12.5", "120"}) {
      const WriteOptions options = {.height = 16, .width = 16, .rate = parse_frame_rate(rate)};
      write_clip(folder_.file(name), options, noise(16 * 16 * 3 * 60));
      const Clip clip = read_clip(folder_.file(name));
      EXPECT_EQ(clip.frames, 60);
      EXPECT_EQ(clip.info.rate, options.rate) << name << " " << to_string(clip.info.rate);
      EXPECT_FALSE(clip.said("variable"));
    }
  }
}

TEST_F(VideoFileWriterTest, OddSizesKeepTheirSizeAndAreSaid) {
  for (const char* name : {"a.mp4", "a.y4m"}) {
    std::vector<std::string> notices;
    const WriteOptions options = {
        .height = 17, .width = 31, .notice = [&notices](const std::string& text) {
          notices.push_back(text);
        }};
    write_clip(folder_.file(name), options, std::vector<uint8_t>(17 * 31 * 3 * 2, 90));
    ASSERT_FALSE(notices.empty());
    EXPECT_NE(notices[0].find("31x17 is odd"), std::string::npos);
    const Clip clip = read_clip(folder_.file(name));
    EXPECT_EQ(clip.info.width, 31);
    EXPECT_EQ(clip.info.height, 17);
    for (const uint8_t value : clip.bytes) ASSERT_NEAR(value, 90, 2);
  }
}

TEST_F(VideoFileWriterTest, Mp4StartsWithItsIndex) {
  planes_of("a.mp4", 64);
  const std::string bytes = read_bytes(folder_.file("a.mp4"));
  EXPECT_LT(bytes.find("moov"), bytes.find("mdat"));
}

TEST_F(VideoFileWriterTest, AppearsOnlyWhenWhole) {
  const std::vector<uint8_t> frame(16 * 16 * 3);
  for (const char* name : {"a.mp4", "a.mkv", "a.y4m", "a.png", "folder/"}) {
    const std::unique_ptr<VideoWriter> writer =
        open_video_writer(folder_.file(name), {.height = 16, .width = 16});
    writer->write(1, frame.data());
    EXPECT_FALSE(std::filesystem::exists(folder_.file(name)));
  }
  EXPECT_TRUE(folder_.names().empty());
  const Error error =
      error_of([&] { open_video_writer(folder_.file("none/a.mp4"), {.height = 16, .width = 16}); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
}

TEST_F(VideoFileWriterTest, NoFramesAreNoVideo) {
  for (const char* name : {"a.mp4", "a.png", "folder/"}) {
    const Error error =
        error_of([&] { write_clip(folder_.file(name), {.height = 16, .width = 16}, {}); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(VideoFileWriterTest, PngIsLosslessAndHoldsOneFrame) {
  const std::vector<uint8_t> pixels = noise(5 * 7 * 3);
  const std::string path = folder_.file("a.png");
  write_clip(path, {.height = 5, .width = 7}, pixels);
  EXPECT_EQ(read_clip(path).bytes, pixels);
  EXPECT_EQ(read_bytes(path).find("gAMA"), std::string::npos);
  const auto write_two = [&](std::optional<int64_t> frames) {
    return error_of([&] {
      write_clip(path, {.height = 5, .width = 7, .frames = frames}, noise(2 * 5 * 7 * 3));
    });
  };
  EXPECT_EQ(write_two(std::nullopt).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_two(2).code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(write_two(2).what()).find("a/"), std::string::npos);
  EXPECT_EQ(read_clip(path).bytes, pixels) << "the old file stays";
}

TEST_F(VideoFileWriterTest, FoldersComeBack) {
  const std::vector<uint8_t> pixels = noise(12 * 5 * 7 * 3);
  const std::string path = folder_.file("frames/");
  write_clip(path, {.height = 5, .width = 7}, pixels);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("frames/frame_000012.png")));
  EXPECT_EQ(read_clip(path).bytes, pixels);
  write_clip(path, {.height = 5, .width = 7}, noise(5 * 7 * 3));
  EXPECT_EQ(read_clip(path).frames, 1) << "an earlier result is replaced as a whole";
}

TEST_F(VideoFileWriterTest, FoldersOfOtherThingsAreLeftAlone) {
  std::filesystem::create_directory(folder_.file("mine"));
  write_bytes(folder_.file("mine/diary.txt"), "dear diary");
  const Error error = error_of(
      [&] { write_clip(folder_.file("mine"), {.height = 5, .width = 7}, noise(5 * 7 * 3)); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_EQ(read_bytes(folder_.file("mine/diary.txt")), "dear diary");
}

}  // namespace
}  // namespace zoetrope::media
