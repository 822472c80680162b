// SPDX-License-Identifier: Apache-2.0
#include "cli/made_up_input.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "checkpoint/checkpoint.h"

namespace zoetrope::cli {
namespace {

using Color = std::array<float, 3>;

// At a time, row and column from 0 to 1.
Color color_at(double time, double row, double column) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double disc_row = 0.5 + 0.25 * std::sin(kTurn * time);
  const double disc_column = 0.25 + 0.5 * time;
  constexpr double kRadius = 0.18;
  if (std::hypot(row - disc_row, column - disc_column) < kRadius) return {0.8F, -0.2F, -0.7F};
  const double grating = row > 0.7 ? 0.3 * std::sin(kTurn * 12 * (column + row / 2)) : 0;
  return {static_cast<float>(0.9 * (row - 0.5) + grating),
          static_cast<float>(0.9 * (column - 0.5) + grating),
          static_cast<float>(0.5 * std::sin(kTurn * (row + column + time / 2)) + grating)};
}

}  // namespace

void make_up_clip(int64_t frames, int64_t height, int64_t width, float* values) {
  for (int64_t t = 0; t < frames; ++t) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        constexpr double kFramesOfMotion = 32;
        const Color color = color_at(static_cast<double>(t) / kFramesOfMotion,
                                     static_cast<double>(y) / static_cast<double>(height),
                                     static_cast<double>(x) / static_cast<double>(width));
        values = std::ranges::copy(color, values).out;
      }
    }
  }
}

std::vector<float> made_up_latents(int64_t channels, int64_t frames, int64_t height,
                                   int64_t width) {
  constexpr float kLargest = 1.7F;  // of uniform values whose deviation is about 1
  const RandomSequence random("latents", 0);
  std::vector<float> values(static_cast<size_t>(channels * frames * height * width));
  for (size_t i = 0; i < values.size(); ++i) values[i] = kLargest * random.at(i);
  return values;
}

}  // namespace zoetrope::cli
