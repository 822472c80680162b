// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/pointwise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/cuda/device_buffers.h"
#include "tests/reference/pointwise.h"

namespace zoetrope {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// What a value rounded to `dtype` may be off by.
double rounded(DType dtype, double expected, double error) {
  if (dtype != DType::kFloat16) return rounded_error(dtype, expected, error);
  return error + (std::abs(expected) + error) * 0x1p-11 + 0x1p-25;
}

void wait() { cuda::check(cudaDeviceSynchronize(), "test"); }

TEST(CudaRmsNorm, MatchesTheDefinitionInEveryPairOfTypes) {
  ZOETROPE_NEEDS_GPU();
  for (const auto& [pixels, channels] :
       {std::pair<int64_t, int64_t>{1, 1}, {37, 5}, {100, 32}, {9, 384}, {70000, 3}}) {
    const std::vector<float> gamma = random_floats(channels, 2);
    const DeviceBytes device_gamma(DType::kFloat32, gamma);
    for (const DType from : kTypes) {
      const std::vector<float> x = rounded_to(from, random_floats(pixels * channels, 1));
      const DeviceBytes device_x(from, x);
      for (const DType to : kTypes) {
        SCOPED_TRACE(fmt::format("{} x {}", pixels, channels));
        const DeviceOutput y(to, pixels * channels);
        cuda::check(cuda::rms_norm({.x = {device_x.data(), from},
                                    .gamma = device_gamma.floats(),
                                    .pixels = pixels,
                                    .channels = channels,
                                    .silu = from == to,
                                    .y = {y.data(), to}},
                                   nullptr),
                    "rms_norm");
        wait();
        const std::vector<float> found = y.values();
        for (int64_t pixel = 0; pixel < pixels; pixel += 1 + pixels / 500) {
          const auto first = static_cast<size_t>(pixel * channels);
          const std::vector<double> normed = reference::rms_norm(
              std::span(x).subspan(first, static_cast<size_t>(channels)), gamma);
          for (size_t c = 0; c < normed.size(); ++c) {
            const double expected = from == to ? reference::silu(normed[c]) : normed[c];
            const double error = (static_cast<double>(channels) / 2 + 16) * 0x1p-24 *
                                 (std::abs(normed[c]) + 0x1p-20);
            ASSERT_NEAR(found[first + c], expected, rounded(to, expected, error));
          }
        }
      }
    }
  }
}

TEST(CudaSilu, MatchesTheDefinition) {
  ZOETROPE_NEEDS_GPU();
  std::vector<float> x = random_floats(1000, 3);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(i % 100);
  const DeviceBytes device_x(DType::kFloat32, x);
  const DeviceOutput y(DType::kFloat32, std::ssize(x));
  cuda::check(cuda::silu({device_x.data(), DType::kFloat32}, std::ssize(x),
                         {y.data(), DType::kFloat32}, nullptr),
              "silu");
  wait();
  const std::vector<float> found = y.values();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(found[i], reference::silu(x[i]), reference::silu_error(x[i])) << x[i];
  }
}

TEST(CudaAdd, RoundsTheSumOnce) {
  ZOETROPE_NEEDS_GPU();
  for (const DType dtype : kTypes) {
    const std::vector<float> x = rounded_to(dtype, random_floats(777, 4));
    const std::vector<float> residual = rounded_to(DType::kBFloat16, random_floats(777, 5));
    const DeviceOutput y(dtype, x);  // in place
    const DeviceBytes device_residual(DType::kBFloat16, residual);
    cuda::check(cuda::add({y.data(), dtype}, {device_residual.data(), DType::kBFloat16}, 777,
                          {y.data(), dtype}, nullptr),
                "add");
    wait();
    std::vector<float> expected = x;
    for (size_t i = 0; i < x.size(); ++i) expected[i] += residual[i];
    EXPECT_TRUE(same_bits(y.values(), rounded_to(dtype, expected)));
  }
}

// Pixels of every size of word.
TEST(CudaCopies, MoveWholePixels) {
  ZOETROPE_NEEDS_GPU();
  constexpr int64_t kFrames = 3, kHeight = 4, kWidth = 5;
  for (const int64_t channels : {1, 2, 3, 8, 12}) {
    const auto pixel = static_cast<size_t>(channels);
    const std::vector<float> x =
        rounded_to(DType::kBFloat16, random_floats(kFrames * kHeight * kWidth * 2 * channels, 6));
    const DeviceBytes device_x(DType::kBFloat16, x);
    const DeviceOutput large(DType::kBFloat16, kFrames * 4 * kHeight * kWidth * 2 * channels);
    const DeviceOutput apart(DType::kBFloat16, std::ssize(x));
    cuda::PixelCopy copy = {device_x.data(), kFrames, kHeight, kWidth, 4 * channels, large.data()};
    cuda::check(cuda::upsample_nearest(copy, nullptr), "upsample");
    copy.pixel_bytes = 2 * channels;
    copy.y = apart.data();
    cuda::check(cuda::frame_interleave(copy, nullptr), "interleave");
    wait();
    const std::vector<float> upsampled = large.values();
    for (size_t i = 0; i < upsampled.size(); ++i) {
      const size_t at = i / (2 * pixel);
      const size_t column = at % (2 * kWidth), line = at / (2 * kWidth);
      const size_t row = line % (2 * kHeight), frame = line / (2 * kHeight);
      const size_t from = (frame * kHeight + row / 2) * kWidth + column / 2;
      ASSERT_EQ(upsampled[i], x[from * 2 * pixel + i % (2 * pixel)]);
    }
    const std::vector<float> interleaved = apart.values();
    constexpr size_t kPixels = kHeight * kWidth;
    for (size_t i = 0; i < interleaved.size(); ++i) {
      const size_t frame = i / pixel / kPixels;
      const size_t from = (frame / 2 * kPixels + i / pixel % kPixels) * 2 + frame % 2;
      ASSERT_EQ(interleaved[i], x[from * pixel + i % pixel]);
    }
  }
}

TEST(CudaCarry, KeepsTheLastFrames) {
  ZOETROPE_NEEDS_GPU();
  constexpr int64_t kFrame = 1234;
  for (const int64_t frames : {1, 2, 5}) {
    for (const int64_t kept : {1, 2, 3}) {
      const std::vector<float> x = random_floats(frames * kFrame, 7);
      std::vector<float> all = random_floats(kept * kFrame, 8);
      const DeviceBytes device_x(DType::kFloat32, x);
      const DeviceOutput history(DType::kFloat32, all);
      cuda::check(cuda::carry({device_x.data(), frames, kFrame * 4, kept, history.data()}, nullptr),
                  "carry");
      wait();
      all.insert(all.end(), x.begin(), x.end());
      EXPECT_TRUE(
          same_bits(history.values(), std::span(all).last(static_cast<size_t>(kept * kFrame))))
          << frames << " " << kept;
    }
  }
}

}  // namespace
}  // namespace zoetrope
