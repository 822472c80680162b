// SPDX-License-Identifier: Apache-2.0
#include "media/frame_scaler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

constexpr VideoFormat kBytes = {Layout::kTHWC, Range::kBytes, DType::kUInt8};
constexpr VideoFormat kFloats = {Layout::kTHWC, Range::kUnit, DType::kFloat32};
constexpr VideoFormat kPlanes = {Layout::kTCHW, Range::kUnit, DType::kFloat32};

template <typename Value>
std::vector<Value> scaled(const VideoFormat& format, const FrameSize& from, const FrameSize& to,
                          const std::vector<Value>& frame) {
  std::vector<Value> result(static_cast<size_t>(3 * to.height * to.width));
  FrameScaler(format, from, to).scale(frame.data(), result.data());
  return result;
}

double lanczos(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= 3) return 0;
  const double angle = std::numbers::pi * x;
  return 3 * std::sin(angle) * std::sin(angle / 3) / (angle * angle);
}

// Pixel `at` of `to` along an axis that `value` reads.
template <typename Read>
double weighed(int64_t from, int64_t to, int64_t at, const Read& value) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  double sum = 0;
  double weights = 0;
  for (int64_t k = 0; k < from; ++k) {
    const double distance = static_cast<double>(k) + 0.5 - (static_cast<double>(at) + 0.5) * ratio;
    const double weight = lanczos(distance / std::max(1.0, ratio));
    sum += weight * value(k);
    weights += weight;
  }
  return sum / weights;
}

// Channel `c` of pixel (y, x) of the result, in float64.
double reference(const std::vector<uint8_t>& frame, const FrameSize& from, const FrameSize& to,
                 int64_t y, int64_t x, int64_t c) {
  return weighed(from.height, to.height, y, [&](int64_t row) {
    return weighed(from.width, to.width, x, [&](int64_t column) {
      return static_cast<double>(frame[static_cast<size_t>((row * from.width + column) * 3 + c)]);
    });
  });
}

const FrameSize kSizes[] = {{17, 13}, {5, 29}, {1, 1}, {34, 26}, {18, 12}, {2, 40}};

TEST(FrameScaler, FollowsTheFormula) {
  const FrameSize from = {17, 13};
  const std::vector<uint8_t> frame = noise(static_cast<size_t>(3 * from.height * from.width));
  std::vector<float> unit(frame.begin(), frame.end());
  for (float& value : unit) value /= 255;
  for (const FrameSize& to : kSizes) {
    const std::vector<uint8_t> bytes = scaled(kBytes, from, to, frame);
    const std::vector<float> floats = scaled(kFloats, from, to, unit);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto pixel = static_cast<int64_t>(i / 3);
      const double expected = std::clamp(reference(frame, from, to, pixel / to.width,
                                                   pixel % to.width, static_cast<int64_t>(i % 3)),
                                         0.0, 255.0);
      ASSERT_NEAR(bytes[i], expected, 0.5 + 1e-3) << to.width << "x" << to.height;
      ASSERT_NEAR(floats[i], expected / 255, 1e-6) << to.width << "x" << to.height;
    }
  }
}

TEST(FrameScaler, FlatColoursStay) {
  for (const FrameSize& to : kSizes) {
    std::vector<uint8_t> frame;
    for (int i = 0; i < 17 * 13; ++i) frame.insert(frame.end(), {0, 77, 255});
    const std::vector<uint8_t> result = scaled(kBytes, {17, 13}, to, frame);
    for (size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], frame[i % 3]);
  }
}

TEST(FrameScaler, FineDetailBecomesGray) {
  std::vector<uint8_t> checkers;
  for (int i = 0; i < 64 * 64; ++i) checkers.insert(checkers.end(), 3, (i + i / 64) % 2 * 255);
  for (const uint8_t value : scaled(kBytes, {64, 64}, {16, 16}, checkers)) {
    ASSERT_NEAR(value, 127.5, 12);  // edges have fewer pixels to average
  }
}

// And bound what overshoots at an edge.
TEST(FrameScaler, ValuesOutsideTheRangeStay) {
  constexpr VideoFormat kSigned = {Layout::kTCHW, Range::kSigned, DType::kFloat32};
  for (const VideoFormat& format : {kFloats, kSigned}) {
    const std::vector<float> flat(3 * 17 * 13, 7.5F);
    for (const float value : scaled(format, {17, 13}, {9, 20}, flat)) {
      EXPECT_NEAR(value, 7.5F, 1e-5F);
    }
  }
  std::vector<float> edge(3 * 16 * 16, -4);
  for (size_t i = 0; i < edge.size(); ++i) edge[i] = i % 16 < 8 ? -4.0F : 3.0F;
  const std::vector<float> wide = scaled(kSigned, {16, 16}, {16, 37}, edge);
  EXPECT_EQ(*std::ranges::min_element(wide), -4);
  EXPECT_EQ(*std::ranges::max_element(wide), 3);
  for (float& value : edge) value = value < 0 ? -1.0F : 1.0F;
  const std::vector<float> within = scaled(kSigned, {16, 16}, {16, 37}, edge);
  EXPECT_EQ(*std::ranges::min_element(within), -1);
  EXPECT_EQ(*std::ranges::max_element(within), 1);
}

TEST(FrameScaler, PlanesAreChannels) {
  const std::vector<uint8_t> bytes = noise(3 * 17 * 13);
  std::vector<float> pixels(bytes.size());
  std::vector<float> planes(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    pixels[i] = planes[i % 3 * 17 * 13 + i / 3] = static_cast<float>(bytes[i]) / 255;
  }
  const std::vector<float> result = scaled(kFloats, {17, 13}, {9, 20}, pixels);
  const std::vector<float> in_planes = scaled(kPlanes, {17, 13}, {9, 20}, planes);
  for (size_t i = 0; i < result.size(); ++i) {
    ASSERT_EQ(result[i], in_planes[i % 3 * 9 * 20 + i / 3]);
  }
}

}  // namespace
}  // namespace zoetrope::media
