// SPDX-License-Identifier: Apache-2.0
// Colours of decoded YUV against the matrices of BT.601 and BT.709 in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

struct Coefficients {
  double red;
  double blue;
};

constexpr Coefficients kBt601 = {0.299, 0.114};
constexpr Coefficients kBt709 = {0.2126, 0.0722};

// RGB from 0 to 1, clamped, of code values with `depth` bits.
std::array<double, 3> rgb_of(const std::array<int, 3>& yuv, const Coefficients& k, bool full,
                             int depth) {
  const double unit = std::ldexp(1.0, depth - 8);
  const double largest = std::ldexp(1.0, depth) - 1;
  const double y = full ? yuv[0] / largest : (yuv[0] - 16 * unit) / (219 * unit);
  const double chroma = full ? largest : 224 * unit;
  const double u = (yuv[1] - 128 * unit) / chroma;
  const double v = (yuv[2] - 128 * unit) / chroma;
  const double red = y + 2 * (1 - k.red) * v;
  const double blue = y + 2 * (1 - k.blue) * u;
  const double green = (y - k.red * red - k.blue * blue) / (1 - k.red - k.blue);
  return {std::clamp(red, 0.0, 1.0), std::clamp(green, 0.0, 1.0), std::clamp(blue, 0.0, 1.0)};
}

// A frame of width 16 whose pixels walk through all of YUV, 4:4:4, stored without loss.
class YuvClip {
 public:
  YuvClip(int height, int depth) : height_(height), depth_(depth) {}

  std::array<int, 3> pixel(int index) const {
    const int last = (1 << depth_) - 1;
    const int steps = 16 * height_;
    return {index * last / (steps - 1), index * 37 % (last + 1), index * 59 % (last + 1)};
  }

  // `tags`: of ffmpeg's filter setparams.
  void write(const std::string& path, const std::string& tags) const {
    std::string planes;
    for (size_t plane = 0; plane < 3; ++plane) {
      for (int i = 0; i < 16 * height_; ++i) {
        const int value = pixel(i)[plane];
        planes += static_cast<char>(value & 0xff);
        if (depth_ > 8) planes += static_cast<char>(value >> 8);
      }
    }
    write_bytes(path + ".raw", planes);
    const std::string format = depth_ == 8 ? "yuv444p" : "yuv444p" + std::to_string(depth_) + "le";
    run_ffmpeg("-f rawvideo -pix_fmt " + format + " -s 16x" + std::to_string(height_) + " -i " +
               path + ".raw -c:v ffv1 " + (tags.empty() ? "" : "-vf setparams=" + tags + " ") +
               path);
  }

  // Largest difference from what the matrix gives, in 8-bit code values.
  double error(const Clip& clip, const Coefficients& coefficients, bool full) const {
    double largest = 0;
    for (int i = 0; i < 16 * height_; ++i) {
      const std::array<double, 3> expected = rgb_of(pixel(i), coefficients, full, depth_);
      for (size_t c = 0; c < 3; ++c) {
        const size_t index = 3 * static_cast<size_t>(i) + c;
        const double found =
            depth_ == 8 ? clip.bytes.at(index) / 255.0 : (clip.values.at(index) + 1) / 2.0;
        largest = std::max(largest, 255 * std::abs(found - expected[c]));
      }
    }
    return largest;
  }

 private:
  int height_;
  int depth_;
};

// Half a code of rounding to 8 bits, and as much for swscale's fixed point.
constexpr double kOneCode = 1;

class ColorTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("a.mkv"); }
  ScratchFolder folder_;
};

TEST_F(ColorTest, UntaggedIsBt601BelowSevenHundredTwentyLines) {
  const YuvClip source(718, 8);
  source.write(path(), "");
  const Clip clip = read_clip(path());
  EXPECT_LE(source.error(clip, kBt601, false), kOneCode);
  EXPECT_GT(source.error(clip, kBt709, false), 10);
  EXPECT_EQ(clip.info.color, "bt601 limited");
  EXPECT_TRUE(clip.said("no colour matrix tag: bt601 assumed for 718 lines"));
}

TEST_F(ColorTest, UntaggedIsBt709FromSevenHundredTwentyLinesUp) {
  const YuvClip source(720, 8);
  source.write(path(), "");
  const Clip clip = read_clip(path());
  EXPECT_LE(source.error(clip, kBt709, false), kOneCode);
  EXPECT_TRUE(clip.said("bt709 assumed"));
}

TEST_F(ColorTest, FollowsTags) {
  const YuvClip source(64, 8);
  source.write(path(), "colorspace=bt709:range=tv");
  const Clip tagged = read_clip(path());
  EXPECT_LE(source.error(tagged, kBt709, false), kOneCode);
  EXPECT_EQ(tagged.info.color, "bt709 limited");
  EXPECT_TRUE(tagged.notices.empty());

  source.write(path(), "colorspace=smpte170m:range=pc");
  const Clip full = read_clip(path());
  EXPECT_LE(source.error(full, kBt601, true), kOneCode);
  EXPECT_GT(source.error(full, kBt601, false), 10);
  EXPECT_EQ(full.info.color, "bt601 full");
}

TEST_F(ColorTest, TheMatrixOptionOverridesTags) {
  const YuvClip source(64, 8);
  source.write(path(), "colorspace=bt709");
  const Clip clip = read_clip(path(), {.matrix = Matrix::kBt601});
  EXPECT_LE(source.error(clip, kBt601, false), kOneCode);
}

TEST_F(ColorTest, DeeperSourcesKeepTheirPrecision) {
  for (const int depth : {10, 12}) {
    const YuvClip source(64, depth);
    source.write(path(), "colorspace=bt709");
    const Clip clip = read_clip(path());
    EXPECT_EQ(clip.info.format.dtype, DType::kFloat32);
    EXPECT_EQ(clip.info.format.range, Range::kSigned);
    // A tenth of an 8-bit code: a quarter of a code at 10 bits, beyond what a uint8 could hold.
    EXPECT_LE(source.error(clip, kBt709, false), 0.1) << depth;
  }
}

TEST_F(ColorTest, GrayFollowsItsRange) {
  std::vector<uint8_t> ramp(16 * 16);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<uint8_t>(i);
  write_bytes(folder_.file("raw"), ramp.data(), ramp.size());
  for (const bool full : {true, false}) {
    run_ffmpeg("-f rawvideo -pix_fmt gray -s 16x16 -i " + folder_.file("raw") +
               " -c:v ffv1 -vf setparams=range=" + (full ? "pc " : "tv ") + path());
    const Clip clip = read_clip(path());
    EXPECT_EQ(clip.info.color, full ? "gray full" : "gray limited");
    for (size_t i = 0; i < ramp.size(); ++i) {
      const double limited = std::clamp((static_cast<double>(i) - 16) * 255 / 219, 0.0, 255.0);
      const double expected = full ? static_cast<double>(i) : limited;
      for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(clip.bytes.at(3 * i + c), expected, kOneCode) << i;
    }
  }
}

TEST_F(ColorTest, ChromaIsReadWhereItWasSampled) {
  // Red to the left of column 8, gray to its right, equally bright: all of it is in the chroma
  // planes. Left-sited samples lie on even columns, so the edge is between samples 3 (column 6) and
  // 4 (column 8): half way at column 7, and at 7.5 if samples lie between columns.
  std::string planes(16 * 16, '\x80');
  planes += std::string(8 * 8, '\x80');
  for (int i = 0; i < 64; ++i) planes += i % 8 < 4 ? '\xa0' : '\x80';
  write_bytes(folder_.file("raw"), planes);
  const auto red_at_seven = [&](const std::string& location) {
    run_ffmpeg("-f rawvideo -pix_fmt yuv420p -s 16x16 -i " + folder_.file("raw") +
               " -c:v libx264 -qp 0 -vf setparams=colorspace=bt709 -chroma_sample_location " +
               location + " " + path());
    const Clip clip = read_clip(path());
    const auto at = [&clip](size_t x) {
      return static_cast<double>(clip.bytes.at((8 * 16 + x) * 3));
    };
    return (at(7) - at(15)) / (at(0) - at(15));
  };
  EXPECT_NEAR(red_at_seven("left"), 0.5, 0.03);
  EXPECT_GT(red_at_seven("center"), 0.6);
}

TEST_F(ColorTest, RefusesHdrAndNamesTheWayOut) {
  const YuvClip source(64, 10);
  for (const char* tags : {"color_trc=smpte2084", "color_trc=arib-std-b67",
                           "color_primaries=bt2020", "colorspace=bt2020nc"}) {
    source.write(path(), tags);
    const Error error = error_of([&] { read_clip(path(), {.matrix = Matrix::kBt709}); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << tags;
    EXPECT_NE(std::string(error.what()).find("ffmpeg -i IN -vf zscale"), std::string::npos);
  }
}

TEST_F(ColorTest, RefusesAnUnknownMatrixUnlessToldAnother) {
  const YuvClip source(64, 8);
  source.write(path(), "colorspace=ycgco");
  const Error error = error_of([&] { read_clip(path()); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(error.what()).find("ycgco"), std::string::npos);
  EXPECT_EQ(read_clip(path(), {.matrix = Matrix::kBt709}).frames, 1);
}

}  // namespace
}  // namespace zoetrope::media
