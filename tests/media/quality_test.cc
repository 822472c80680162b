// SPDX-License-Identifier: Apache-2.0
#include "media/quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

Frames bytes_of(const std::vector<uint8_t>& bytes, int64_t count, int64_t height, int64_t width) {
  return {{}, count, height, width, bytes.data()};
}

// The definition, window by window, as written in the paper.
double naive_ssim(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, int64_t height,
                  int64_t width) {
  const auto luma = [width](const std::vector<uint8_t>& bytes, int64_t y, int64_t x) {
    const uint8_t* p = bytes.data() + 3 * (y * width + x);
    return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
  };
  double total = 0;
  for (int64_t y = 5; y + 5 < height; ++y) {
    for (int64_t x = 5; x + 5 < width; ++x) {
      double weight_sum = 0, mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
      for (int64_t i = -5; i <= 5; ++i) {
        for (int64_t j = -5; j <= 5; ++j) {
          const double weight = std::exp(-static_cast<double>(i * i + j * j) / (2 * 1.5 * 1.5));
          const double va = luma(a, y + i, x + j);
          const double vb = luma(b, y + i, x + j);
          weight_sum += weight;
          mean_a += weight * va;
          mean_b += weight * vb;
          aa += weight * va * va;
          bb += weight * vb * vb;
          ab += weight * va * vb;
        }
      }
      mean_a /= weight_sum;
      mean_b /= weight_sum;
      const double var_a = aa / weight_sum - mean_a * mean_a;
      const double var_b = bb / weight_sum - mean_b * mean_b;
      const double cov = ab / weight_sum - mean_a * mean_b;
      const double c1 = 2.55 * 2.55, c2 = 7.65 * 7.65;
      total += (2 * mean_a * mean_b + c1) * (2 * cov + c2) /
               ((mean_a * mean_a + mean_b * mean_b + c1) * (var_a + var_b + c2));
    }
  }
  return total / static_cast<double>((height - 10) * (width - 10));
}

TEST(Quality, EqualVideosArePerfect) {
  const std::vector<uint8_t> a = noise(2 * 16 * 20 * 3);
  QualityMeter meter;
  meter.add(bytes_of(a, 2, 16, 20), bytes_of(a, 2, 16, 20));
  EXPECT_EQ(meter.result().frames, 2);
  EXPECT_TRUE(std::isinf(meter.result().psnr));
  EXPECT_NEAR(meter.result().ssim, 1, 1e-12);
}

TEST(Quality, PsnrIsOverAllFrames) {
  const std::vector<uint8_t> a(16 * 16 * 3, 100);
  const std::vector<uint8_t> b(16 * 16 * 3, 104);  // squared error 16
  QualityMeter meter;
  meter.add(bytes_of(a, 1, 16, 16), bytes_of(a, 1, 16, 16));
  meter.add(bytes_of(a, 1, 16, 16), bytes_of(b, 1, 16, 16));
  EXPECT_NEAR(meter.result().psnr, 10 * std::log10(255.0 * 255.0 / 8), 1e-12);
}

TEST(Quality, SsimFollowsTheDefinition) {
  constexpr int64_t kHeight = 19, kWidth = 23;
  const std::vector<uint8_t> a = noise(kHeight * kWidth * 3);
  std::vector<uint8_t> b = a;
  for (size_t i = 0; i < b.size(); i += 2) b[i] = static_cast<uint8_t>(b[i] / 2 + 40);
  QualityMeter meter;
  meter.add(bytes_of(a, 1, kHeight, kWidth), bytes_of(b, 1, kHeight, kWidth));
  EXPECT_NEAR(meter.result().ssim, naive_ssim(a, b, kHeight, kWidth), 1e-10);
  EXPECT_LT(meter.result().ssim, 0.99);
}

TEST(Quality, SmallFramesUseASmallerWindow) {
  const std::vector<uint8_t> a = noise(4 * 1 * 3);
  QualityMeter meter;
  meter.add(bytes_of(a, 1, 4, 1), bytes_of(a, 1, 4, 1));
  EXPECT_NEAR(meter.result().ssim, 1, 1e-12);
}

TEST(Quality, FormatsMeetInEightBits) {
  const std::vector<uint8_t> bytes = noise(12 * 12 * 3);
  std::vector<float> planar(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    planar[i % 3 * 144 + i / 3] = static_cast<float>(bytes[i]) / 127.5F - 1;
  }
  planar[0] = std::nanf("");
  const Frames floats = {
      {Layout::kTCHW, Range::kSigned, DType::kFloat32}, 1, 12, 12, planar.data()};
  std::vector<uint8_t> expected = bytes;
  expected[0] = 0;
  QualityMeter meter;
  meter.add(floats, bytes_of(expected, 1, 12, 12));
  EXPECT_TRUE(std::isinf(meter.result().psnr));
}

}  // namespace
}  // namespace zoetrope::media
