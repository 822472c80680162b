// SPDX-License-Identifier: Apache-2.0
// What the pointwise ops should give, in float64, by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace zoetrope::reference {

inline double silu(double x) { return x / (1 + std::exp(-x)); }

// How far SiLU in float32 may be off: 4 units in the last place, or the last bit of a subnormal;
// below -87, where its size is at most 87 e^-87 < 2^-118, it may be 0.
inline double silu_error(double x) {
  return 8 * 0x1p-24 * std::abs(silu(x)) + (x < -87 ? 0x1p-118 : 0x1p-149);
}

// One pixel.
inline std::vector<double> rms_norm(std::span<const float> x, std::span<const float> gamma) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale =
      std::sqrt(static_cast<double>(x.size())) / std::max(std::sqrt(squares), 1e-12);
  std::vector<double> y;
  for (size_t c = 0; c < x.size(); ++c) y.push_back(double{x[c]} * scale * double{gamma[c]});
  return y;
}

}  // namespace zoetrope::reference
