// SPDX-License-Identifier: Apache-2.0
// What the convs should give, in float64, by the definition.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/kernels/conv3d.h"

namespace zoetrope::reference {

// What Conv3dArgs points to, as plain float32; weights are (filters, c_in, kernel_time,
// kernel_height, kernel_width) and (c_out, c_shortcut). Null: none.
struct ConvOperands {
  const float* x = nullptr;
  const float* history = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  const float* shortcut = nullptr;
  const float* shortcut_weight = nullptr;
  const float* residual = nullptr;
};

struct ConvValue {
  double value = 0;
  double magnitude = 0;  // the same sum over absolute values
};

struct ConvOutput {
  int64_t frame = 0;
  int64_t row = 0;
  int64_t column = 0;
  int64_t channel = 0;
};

// Filter, bias, frame of the conv before its store map, and top left corner of the window.
struct ConvWindow {
  int64_t filter = 0;
  int64_t bias = 0;
  int64_t frame = 0;
  int64_t top = 0;
  int64_t left = 0;
};

inline ConvWindow conv3d_window(const cpu::Conv3dArgs& a, const ConvOutput& out) {
  const int64_t top = out.row * a.stride_space - a.pad_before;
  const int64_t left = out.column * a.stride_space - a.pad_before;
  if (a.store == cpu::Conv3dStore::kFrameInterleave) {
    const int64_t filter = out.frame % 2 * a.c_out + out.channel;
    return {filter, filter, out.frame / 2, top, left};
  }
  if (a.store == cpu::Conv3dStore::kUpsamplePhases) {
    const int64_t p = out.row % 2, q = out.column % 2;
    return {(2 * p + q) * a.c_out + out.channel, out.channel, out.frame,
            out.row / 2 - (a.pad_before - p), out.column / 2 - (a.pad_before - q)};
  }
  return {out.channel, out.channel, out.frame, top, left};
}

// One element of the output, before any norm. Pointers of `a` are not used.
inline ConvValue conv3d(const cpu::Conv3dArgs& a, const ConvOperands& operands,
                        const ConvOutput& out) {
  ConvValue sum;
  const auto add = [&](double term) { sum = {sum.value + term, sum.magnitude + std::abs(term)}; };
  const ConvWindow window = conv3d_window(a, out);
  const int64_t history_frames = a.kernel_time - a.stride_time;
  const int64_t taps = a.kernel_time * a.kernel_height * a.kernel_width;
  for (int64_t tap = a.first_tap * a.kernel_height * a.kernel_width; tap < taps; ++tap) {
    const int64_t kt = tap / a.kernel_width / a.kernel_height;
    const int64_t t = window.frame * a.stride_time + kt - history_frames;
    const int64_t y = window.top + tap / a.kernel_width % a.kernel_height;
    const int64_t x = window.left + tap % a.kernel_width;
    if (y < 0 || y >= a.height || x < 0 || x >= a.width) continue;
    const float* source = t < 0 ? operands.history : operands.x;
    const int64_t source_frame = t < 0 ? t + history_frames : t;
    const float* pixel = source + ((source_frame * a.height + y) * a.width + x) * a.c_in;
    const float* weight = operands.weight + window.filter * a.c_in * taps + tap;
    for (int64_t c = 0; c < a.c_in; ++c) add(double{pixel[c]} * double{weight[c * taps]});
  }
  if (operands.bias) add(operands.bias[window.bias]);
  const int64_t pixel = (out.frame * a.out_height + out.row) * a.out_width + out.column;
  if (operands.shortcut) {
    const float* from = operands.shortcut + pixel * a.c_shortcut;
    const float* weight = operands.shortcut_weight + out.channel * a.c_shortcut;
    for (int64_t c = 0; c < a.c_shortcut; ++c) add(double{from[c]} * double{weight[c]});
  }
  if (operands.residual) add(operands.residual[pixel * a.c_out + out.channel]);
  return sum;
}

}  // namespace zoetrope::reference
