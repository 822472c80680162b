// SPDX-License-Identifier: Apache-2.0
// Shapes of convs for tests: sizes, taps, strides and store maps, without values.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/kernels/conv3d.h"

namespace zoetrope {

struct NamedShape {
  const char* name;
  cpu::Conv3dArgs shape;
  bool history = true;
};

// {frames, height, width}, {c_in, c_out}, {kernel}, the rest as named; outputs as large as inputs.
inline cpu::Conv3dArgs shape(std::array<int64_t, 3> size, std::array<int64_t, 2> channels,
                             std::array<int64_t, 3> kernel, int64_t first_tap = 0) {
  return {.frames = size[0],
          .height = size[1],
          .width = size[2],
          .c_in = channels[0],
          .kernel_time = kernel[0],
          .kernel_height = kernel[1],
          .kernel_width = kernel[2],
          .first_tap = first_tap,
          .pad_before = kernel[1] / 2,
          .out_height = size[1],
          .out_width = size[2],
          .c_out = channels[1]};
}

inline cpu::Conv3dArgs down_in_space(cpu::Conv3dArgs args) {
  args.stride_space = 2;
  args.pad_before = 0;
  args.out_height = (args.height + 1 - 3) / 2 + 1;
  args.out_width = (args.width + 1 - 3) / 2 + 1;
  return args;
}

inline cpu::Conv3dArgs down_in_time(cpu::Conv3dArgs args) {
  args.stride_time = 2;
  return args;
}

inline cpu::Conv3dArgs interleaved(cpu::Conv3dArgs args) {
  args.store = cpu::Conv3dStore::kFrameInterleave;
  return args;
}

inline cpu::Conv3dArgs phases(cpu::Conv3dArgs args) {
  args.store = cpu::Conv3dStore::kUpsamplePhases;
  args.pad_before = 1;
  args.out_height *= 2;
  args.out_width *= 2;
  return args;
}

inline cpu::Conv3dArgs with_shortcut_channels(cpu::Conv3dArgs args, int64_t channels) {
  args.c_shortcut = channels;
  return args;
}

}  // namespace zoetrope
