// SPDX-License-Identifier: Apache-2.0
// How large the terms are that Winograd's F(2x2, 3x3) adds, for bounds on its rounding.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "tests/reference/conv3d.h"

namespace zoetrope::reference {

using Square3 = std::array<std::array<double, 3>, 3>;
using Square4 = std::array<std::array<double, 4>, 4>;

// Element (i, j) of |G| g |G|', with g not negative.
inline double magnitude_of_taps(const Square3& g, size_t i, size_t j) {
  constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
  double sum = 0;
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) sum += kG[i][a] * g[a][b] * kG[j][b];
  }
  return sum;
}

// Element (i, j) of |B'| d |B|, with d not negative.
inline double magnitude_of_pixels(const Square4& d, size_t i, size_t j) {
  constexpr size_t kB[4][2] = {{0, 2}, {1, 2}, {1, 2}, {1, 3}};
  double sum = 0;
  for (const size_t a : kB[i]) {
    for (const size_t b : kB[j]) sum += d[a][b];
  }
  return sum;
}

// |values| of one tap in time and channel, as its tile sees them; zeros outside the image.
inline Square4 pixels_of_tile(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                              const ConvOutput& out, int64_t time, int64_t channel) {
  Square4 d = {};
  const int64_t frame = out.frame + time - (a.kernel_time - 1);
  const float* source = frame < 0 ? operands.history : operands.x;
  const int64_t source_frame = frame < 0 ? frame + a.kernel_time - 1 : frame;
  for (int64_t i = 0; i < 16; ++i) {
    const int64_t y = out.row / 2 * 2 - 1 + i / 4;
    const int64_t x = out.column / 2 * 2 - 1 + i % 4;
    if (y < 0 || y >= a.height || x < 0 || x >= a.width) continue;
    const int64_t pixel = (source_frame * a.height + y) * a.width + x;
    d[static_cast<size_t>(i / 4)][static_cast<size_t>(i % 4)] =
        std::abs(double{source[pixel * a.c_in + channel]});
  }
  return d;
}

// What ConvValue::magnitude is to the plain sum.
inline double winograd_magnitude(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                                 const ConvOutput& out) {
  const auto p = static_cast<size_t>(out.row % 2);
  const auto q = static_cast<size_t>(out.column % 2);
  double sum = 0;
  for (int64_t time = a.first_tap; time < a.kernel_time; ++time) {
    for (int64_t c = 0; c < a.c_in; ++c) {
      Square3 g;
      for (size_t tap = 0; tap < 9; ++tap) {
        const int64_t at = ((out.channel * a.c_in + c) * a.kernel_time + time) * 9;
        g[tap / 3][tap % 3] = std::abs(double{operands.weight[at + static_cast<int64_t>(tap)]});
      }
      const Square4 d = pixels_of_tile(a, operands, out, time, c);
      for (size_t i = p; i < p + 3; ++i) {
        for (size_t j = q; j < q + 3; ++j) {
          sum += magnitude_of_taps(g, i, j) * magnitude_of_pixels(d, i, j);
        }
      }
    }
  }
  // Bias, shortcut and residual are added as ever.
  cpu::Conv3dArgs rest = a;
  rest.first_tap = a.kernel_time;
  return sum + conv3d(rest, operands, out).magnitude;
}

}  // namespace zoetrope::reference
