// SPDX-License-Identifier: Apache-2.0
// Images, folders of images, odd pixel formats, rotation.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

class ImageTest : public testing::Test {
 protected:
  // `raw` in ffmpeg's pixel format `from`, written by the options of `output`.
  std::string image(const std::string& name, const std::string& raw, const std::string& from,
                    const std::string& size, const std::string& output = "") {
    write_bytes(folder_.file("raw"), raw);
    run_ffmpeg("-f rawvideo -pix_fmt " + from + " -s " + size + " -i " + folder_.file("raw") + " " +
               output + " " + folder_.file(name));
    std::filesystem::remove(folder_.file("raw"));
    return folder_.file(name);
  }
  static std::string random(size_t count) {
    const std::vector<uint8_t> bytes = noise(count);
    return {bytes.begin(), bytes.end()};
  }
  ScratchFolder folder_;
};

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST_F(ImageTest, ReadsPngOfOddSizeExactly) {
  const std::string pixels = random(7 * 5 * 3);
  const Clip clip = read_clip(image("a.png", pixels, "rgb24", "7x5"));
  EXPECT_EQ(clip.frames, 1);
  EXPECT_EQ(clip.info.frames, 1);
  EXPECT_TRUE(clip.info.frames_exact);
  EXPECT_FALSE(clip.info.rate_known);
  EXPECT_EQ(clip.info.color, "rgb");
  EXPECT_EQ(text_of(clip.bytes), pixels);
  EXPECT_TRUE(clip.notices.empty());
}

TEST_F(ImageTest, ReadsSixteenBitsExactly) {
  const std::string pixels = random(7 * 5 * 6);
  const Clip clip = read_clip(image("a.png", pixels, "rgb48be", "7x5"));
  ASSERT_EQ(clip.values.size(), 7U * 5 * 3);
  for (size_t i = 0; i < clip.values.size(); ++i) {
    const int value =
        (static_cast<uint8_t>(pixels[2 * i]) << 8) + static_cast<uint8_t>(pixels[2 * i + 1]);
    EXPECT_NEAR(clip.values[i], value / 32767.5 - 1, 1.5e-7);  // float32 rounding below 2
  }
}

TEST_F(ImageTest, ReadsGrayAndPalette) {
  const std::string gray = random(6 * 4);
  const Clip clip = read_clip(image("a.png", gray, "gray", "6x4"));
  for (size_t i = 0; i < gray.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(clip.bytes.at(3 * i + c), static_cast<uint8_t>(gray[i]));
    }
  }
  // Two colours, which a palette holds exactly.
  std::string pixels;
  for (int i = 0; i < 24; ++i) pixels += i % 5 == 0 ? "\x10\x20\x30" : "\xf0\x80\x07";
  const std::string palette = image(
      "b.png", pixels, "rgb24", "6x4",
      "-filter_complex \"split[a][b];[a]palettegen=reserve_transparent=0[p];[b][p]paletteuse\"");
  EXPECT_EQ(text_of(read_clip(palette).bytes), pixels);
}

TEST_F(ImageTest, TransparencyNeedsADecision) {
  // Opaque, half transparent, transparent.
  const std::string pixels("\x64\xc8\x32\xff\x64\xc8\x32\x80\x64\xc8\x32\x00", 12);
  const std::string path = image("a.png", pixels, "rgba", "3x1");
  const Error error = error_of([&] { read_clip(path); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(error.what()).find("--alpha drop"), std::string::npos);
  EXPECT_EQ(read_clip(path, {.alpha = AlphaPolicy::kDrop}).bytes,
            (std::vector<uint8_t>{100, 200, 50, 100, 200, 50, 100, 200, 50}));
  EXPECT_EQ(read_clip(path, {.alpha = AlphaPolicy::kBlack}).bytes,
            (std::vector<uint8_t>{100, 200, 50, 50, 100, 25, 0, 0, 0}));
  EXPECT_EQ(read_clip(path, {.alpha = AlphaPolicy::kWhite}).bytes,
            (std::vector<uint8_t>{100, 200, 50, 177, 227, 152, 255, 255, 255}));
}

TEST_F(ImageTest, AnOpaqueAlphaChannelNeedsNone) {
  const std::string path = image("a.png", "\x01\x02\x03\xff\x04\x05\x06\xff", "rgba", "2x1");
  EXPECT_EQ(read_clip(path).bytes, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(ImageTest, BlendsSixteenBitAlpha) {
  const std::string pixels("\x80\x00\x40\x00\xff\xff\x80\x00", 8);  // rgba64be, alpha 32768
  const std::string path = image("a.png", pixels, "rgba64be", "1x1");
  const Clip black = read_clip(path, {.alpha = AlphaPolicy::kBlack});
  const double alpha = 32768 / 65535.0;
  EXPECT_NEAR((black.values.at(0) + 1) / 2, 32768 / 65535.0 * alpha, 1e-5);
  EXPECT_NEAR((black.values.at(1) + 1) / 2, 16384 / 65535.0 * alpha, 1e-5);
  EXPECT_NEAR((black.values.at(2) + 1) / 2, alpha, 1e-5);
}

TEST_F(ImageTest, FoldersAreReadInNaturalOrder) {
  for (const int number : {10, 9, 1, 2, 100}) {
    image("frame" + std::to_string(number) + ".png",
          std::string(4 * 4 * 3, static_cast<char>(number)), "rgb24", "4x4");
  }
  write_bytes(folder_.file("notes.txt"), "not an image");
  write_bytes(folder_.file(".hidden.png"), "not an image");
  const Clip clip = read_clip(folder_.file(""), {}, 2);
  std::vector<int> values;
  for (size_t i = 0; i < clip.bytes.size(); i += 48) values.push_back(clip.bytes[i]);
  EXPECT_EQ(values, (std::vector<int>{1, 2, 9, 10, 100}));
  EXPECT_EQ(clip.info.frames, 5);
  EXPECT_TRUE(clip.info.frames_exact);
  EXPECT_EQ(clip.info.rate, (FrameRate{16, 1}));
  EXPECT_TRUE(clip.said("5 images read, 2 other entries left out"));
  EXPECT_TRUE(clip.said("16 assumed"));
  const Clip part = read_clip(folder_.file(""), {.range = {3, {}}});
  EXPECT_EQ(part.frames, 2);
  EXPECT_EQ(part.bytes.at(0), 10);
  EXPECT_TRUE(read_clip(folder_.file(""), {.range = {3, 9}}).said("--frames 3:9: there are 5"));
  EXPECT_TRUE(read_clip(folder_.file("frame1.png"), {.range = {0, 9}}).said("there is 1 frame"));
}

TEST_F(ImageTest, FoldersNameTheOddOne) {
  image("a.png", random(4 * 4 * 3), "rgb24", "4x4");
  image("b.png", random(4 * 5 * 3), "rgb24", "4x5");
  const Error size = error_of([&] { read_clip(folder_.file("")); });
  EXPECT_EQ(size.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(size.what()).find("b.png: expected frames of 4x4"), std::string::npos);
  image("b.png", random(4 * 4 * 6), "rgb48be", "4x4");
  const Error depth = error_of([&] { read_clip(folder_.file("")); });
  EXPECT_NE(std::string(depth.what()).find("b.png: expected 8 bits"), std::string::npos);
  const ScratchFolder empty;
  EXPECT_EQ(error_of([&] { read_clip(empty.file("")); }).code(), ErrorCode::kIo);
}

TEST_F(ImageTest, FoldersMayMixAlphaAndNone) {
  image("a.png", random(4 * 4 * 3), "rgb24", "4x4");
  image("b.png", std::string(4 * 4 * 4, '\xff'), "rgba", "4x4");
  EXPECT_EQ(read_clip(folder_.file("")).frames, 2);
}

// Overwrites the display matrix in an MP4 file's track header: 44 bytes after the box's name.
void turn(const std::string& path, const std::vector<int>& abcd) {
  std::string file = read_bytes(path);
  const size_t matrix = file.find("tkhd") + 44;
  const std::vector<std::pair<size_t, int>> entries = {
      {0, abcd[0]}, {1, abcd[1]}, {3, abcd[2]}, {4, abcd[3]}};
  for (const auto& [index, value] : entries) {
    const uint32_t fixed = static_cast<uint32_t>(value) << 16;
    for (size_t i = 0; i < 4; ++i) {
      file[matrix + 4 * index + i] = static_cast<char>(fixed >> (24 - 8 * i));
    }
  }
  write_bytes(path, file);
}

TEST_F(ImageTest, TurnsVideosUpright) {
  const std::string path = folder_.file("a.mp4");
  constexpr int kWidth = 32, kHeight = 16;
  const std::string pixels = random(kWidth * kHeight * 3);
  image("a.mp4", pixels, "rgb24", "32x16", "-c:v libx264rgb -qp 0");
  ASSERT_EQ(text_of(read_clip(path).bytes), pixels);
  // Stored (p, q) is shown at (a p + c q, b p + d q), shifted to be positive.
  for (const std::vector<int>& m : std::vector<std::vector<int>>{{0, 1, -1, 0},
                                                                 {-1, 0, 0, -1},
                                                                 {0, -1, 1, 0},
                                                                 {-1, 0, 0, 1},
                                                                 {1, 0, 0, -1},
                                                                 {0, 1, 1, 0},
                                                                 {0, -1, -1, 0}}) {
    turn(path, m);
    const Clip clip = read_clip(path);
    const bool exchanged = m[0] == 0;
    const int width = exchanged ? kHeight : kWidth;
    const int height = exchanged ? kWidth : kHeight;
    ASSERT_EQ(clip.info.width, width);
    ASSERT_EQ(clip.info.height, height);
    for (int q = 0; q < kHeight; ++q) {
      for (int p = 0; p < kWidth; ++p) {
        int x = m[0] * p + m[2] * q;
        int y = m[1] * p + m[3] * q;
        if (m[0] + m[2] < 0) x += width - 1;
        if (m[1] + m[3] < 0) y += height - 1;
        const auto stored = static_cast<size_t>(q * kWidth + p) * 3;
        const auto shown = static_cast<size_t>(y * width + x) * 3;
        ASSERT_EQ(static_cast<char>(clip.bytes.at(shown)), pixels.at(stored));
      }
    }
  }
}

TEST_F(ImageTest, AgreesWithFfmpegOnWhichWayToTurn) {
  const std::string path = folder_.file("a.mp4");
  image("a.mp4", random(32 * 16 * 3), "rgb24", "32x16", "-c:v libx264rgb -qp 0");
  for (const std::vector<int>& m :
       std::vector<std::vector<int>>{{0, 1, -1, 0}, {-1, 0, 0, -1}, {0, -1, 1, 0}}) {
    turn(path, m);
    run_ffmpeg("-i " + path + " -f rawvideo -pix_fmt rgb24 " + folder_.file("shown"));
    EXPECT_EQ(text_of(read_clip(path).bytes), read_bytes(folder_.file("shown")));
  }
}

TEST_F(ImageTest, ReadsLowerAnglesAsStored) {
  const std::string path = folder_.file("a.mp4");
  image("a.mp4", random(32 * 16 * 3), "rgb24", "32x16", "-c:v libx264rgb -qp 0");
  turn(path, {1, 1, -1, 1});
  const Clip clip = read_clip(path);
  EXPECT_EQ(clip.info.width, 32);
  EXPECT_TRUE(clip.said("read as stored"));
}

}  // namespace
}  // namespace zoetrope::media
