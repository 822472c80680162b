// SPDX-License-Identifier: Apache-2.0
// How large the terms are that Winograd's F(2x2, 3x3) and F(2x2x2, 3x3x3) add, for bounds on their
// rounding.
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

// |taps| of one tap in time and channel.
inline Square3 taps_of(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                       const ConvOutput& out, int64_t time, int64_t channel) {
  Square3 g;
  for (size_t tap = 0; tap < 9; ++tap) {
    const int64_t at = ((out.channel * a.c_in + channel) * a.kernel_time + time) * 9;
    g[tap / 3][tap % 3] = std::abs(double{operands.weight[at + static_cast<int64_t>(tap)]});
  }
  return g;
}

// The sum over a tile's products that belong to the output, with taps and pixels of one term.
inline double magnitude_of_products(const ConvOutput& out, const Square3& g, const Square4& d) {
  const auto p = static_cast<size_t>(out.row % 2);
  const auto q = static_cast<size_t>(out.column % 2);
  double sum = 0;
  for (size_t i = p; i < p + 3; ++i) {
    for (size_t j = q; j < q + 3; ++j) {
      sum += magnitude_of_taps(g, i, j) * magnitude_of_pixels(d, i, j);
    }
  }
  return sum;
}

// Bias, shortcut and residual are added as ever.
inline double magnitude_of_rest(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                                const ConvOutput& out) {
  cpu::Conv3dArgs rest = a;
  rest.first_tap = a.kernel_time;
  return conv3d(rest, operands, out).magnitude;
}

// What ConvValue::magnitude is to the plain sum.
inline double winograd_magnitude(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                                 const ConvOutput& out) {
  double sum = magnitude_of_rest(a, operands, out);
  for (int64_t time = a.first_tap; time < a.kernel_time; ++time) {
    for (int64_t c = 0; c < a.c_in; ++c) {
      sum += magnitude_of_products(out, taps_of(a, operands, out, time, c),
                                   pixels_of_tile(a, operands, out, time, c));
    }
  }
  return sum;
}

template <class Square>
Square weighted_sum(const std::array<Square, 3>& squares, const double (&weights)[3]) {
  Square sum = {};
  for (size_t k = 0; k < 3; ++k) {
    for (size_t i = 0; i < sum.size(); ++i) {
      for (size_t j = 0; j < sum.size(); ++j) sum[i][j] += weights[k] * squares[k][i][j];
    }
  }
  return sum;
}

// The same for F(2x2x2, 3x3x3), whose terms in time combine taps as those in space do.
inline double winograd_time_magnitude(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                                      const ConvOutput& out) {
  constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
  constexpr int64_t kFrames[4][2] = {{0, 2}, {1, 2}, {1, 2}, {1, 3}};
  const int64_t parity = out.frame % 2;
  double sum = magnitude_of_rest(a, operands, out);
  for (int64_t c = 0; c < a.c_in; ++c) {
    const std::array<Square3, 3> taps = {taps_of(a, operands, out, 0, c),
                                         taps_of(a, operands, out, 1, c),
                                         taps_of(a, operands, out, 2, c)};
    for (int64_t term = parity; term < parity + 3; ++term) {
      // Frame f of the tile's four is read by tap f - parity of this output.
      std::array<Square4, 3> pixels = {};
      for (size_t i = 0; i < 2; ++i) {
        pixels[i] = pixels_of_tile(a, operands, out, kFrames[term][i] - parity, c);
      }
      sum +=
          magnitude_of_products(out, weighted_sum(taps, kG[term]), weighted_sum(pixels, {1, 1, 0}));
    }
  }
  return sum;
}

}  // namespace zoetrope::reference
