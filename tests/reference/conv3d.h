// SPDX-License-Identifier: Apache-2.0
// What the convs should give, in float64, by the definition.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/kernels/conv3d.h"

namespace zoetrope::reference {

struct ConvValue {
  double value = 0;
  double magnitude = 0;  // the same sum over absolute values
};

// One output element; `weight` is plain (c_out, c_in, kernel_time, kernel_height, kernel_width).
inline ConvValue conv3d(const cpu::Conv3dArgs& a, const float* weight, int64_t frame, int64_t row,
                        int64_t column, int64_t channel) {
  ConvValue sum;
  const auto add = [&](double term) { sum = {sum.value + term, sum.magnitude + std::abs(term)}; };
  const int64_t history_frames = a.kernel_time - a.stride_time;
  for (int64_t kt = a.first_tap; kt < a.kernel_time; ++kt) {
    const int64_t t = frame * a.stride_time + kt - history_frames;
    const float* source = t < 0 ? a.history : a.x;
    const int64_t source_frame = t < 0 ? t + history_frames : t;
    for (int64_t kh = 0; kh < a.kernel_height; ++kh) {
      const int64_t y = row * a.stride_space + kh - a.pad_before;
      for (int64_t kw = 0; kw < a.kernel_width; ++kw) {
        const int64_t x = column * a.stride_space + kw - a.pad_before;
        if (y < 0 || y >= a.height || x < 0 || x >= a.width) continue;
        const float* pixel = source + ((source_frame * a.height + y) * a.width + x) * a.c_in;
        for (int64_t c = 0; c < a.c_in; ++c) {
          const int64_t tap = (kt * a.kernel_height + kh) * a.kernel_width + kw;
          const int64_t taps = a.kernel_time * a.kernel_height * a.kernel_width;
          add(double{pixel[c]} * double{weight[(channel * a.c_in + c) * taps + tap]});
        }
      }
    }
  }
  if (a.bias) add(a.bias[channel]);
  const int64_t pixel = (frame * a.out_height + row) * a.out_width + column;
  if (a.residual) add(a.residual[pixel * a.c_out + channel]);
  return sum;
}

}  // namespace zoetrope::reference
