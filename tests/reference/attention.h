// SPDX-License-Identifier: Apache-2.0
// What attention should give, in float64, by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace zoetrope::reference {

// y[query] of one frame. qkv: (positions, 3 channels)
inline std::vector<double> attention(const float* qkv, int64_t positions, int64_t channels,
                                     int64_t query) {
  std::vector<double> weights;
  const float* q = qkv + query * 3 * channels;
  for (int64_t key = 0; key < positions; ++key) {
    const float* k = qkv + key * 3 * channels + channels;
    double score = 0;
    for (int64_t c = 0; c < channels; ++c) score += double{q[c]} * double{k[c]};
    weights.push_back(score / std::sqrt(static_cast<double>(channels)));
  }
  const double largest = *std::ranges::max_element(weights);
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  std::vector<double> y(static_cast<size_t>(channels));
  for (int64_t key = 0; key < positions; ++key) {
    const float* v = qkv + key * 3 * channels + 2 * channels;
    const double weight = weights[static_cast<size_t>(key)] / total;
    for (size_t c = 0; c < y.size(); ++c) y[c] += weight * double{v[c]};
  }
  return y;
}

}  // namespace zoetrope::reference
