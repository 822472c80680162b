// SPDX-License-Identifier: Apache-2.0
// Shapes of convs for tests: sizes, taps, strides and store maps, without values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

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

// For kernels of every device; each adds what its tiles make awkward.
inline std::vector<NamedShape> awkward_shapes() {
  return {
      {"one number", shape({1, 1, 1}, {1, 1}, {3, 3, 3})},
      {"one number, one tap", shape({1, 1, 1}, {1, 1}, {1, 1, 1})},
      {"one column", shape({3, 9, 1}, {16, 48}, {3, 3, 3})},
      {"first frames of two clips", shape({2, 3, 5}, {3, 50}, {3, 3, 3}, 2), false},
      {"RGB out", shape({2, 5, 7}, {96, 3}, {3, 3, 3})},
      {"17 to 3", shape({3, 5, 7}, {17, 3}, {3, 3, 3})},
      {"16 to 17", shape({1, 6, 9}, {16, 17}, {3, 3, 3}, 1)},
      {"time conv", shape({2, 3, 3}, {8, 16}, {3, 1, 1})},
      {"time conv, many frames", shape({8, 2, 5}, {32, 64}, {3, 1, 1})},
      {"down in time", down_in_time(shape({4, 4, 3}, {12, 12}, {3, 1, 1}))},
      {"down in space", down_in_space(shape({2, 6, 8}, {7, 9}, {1, 3, 3}))},
      {"down in space, to one", down_in_space(shape({1, 2, 2}, {4, 4}, {1, 3, 3}))},
      {"per frame", shape({3, 4, 4}, {33, 32}, {1, 3, 3})},
      {"per pixel", shape({1, 1, 37}, {130, 100}, {1, 1, 1})},
      {"per pixel, many", shape({3, 20, 23}, {8, 24}, {1, 1, 1})},
      {"wide taps", shape({1, 6, 40}, {1, 2}, {1, 5, 31})},
      {"interleaved", interleaved(shape({3, 4, 5}, {12, 12}, {3, 1, 1}))},
      {"interleaved, one pixel", interleaved(shape({1, 1, 1}, {5, 3}, {3, 3, 3}, 2)), false},
      {"phases", phases(shape({2, 5, 4}, {12, 12}, {1, 2, 2}))},
      {"phases, one pixel", phases(shape({2, 1, 1}, {3, 4}, {1, 2, 2}))},
      {"phases, in time", phases(shape({2, 9, 8}, {7, 96}, {3, 2, 2}))},
  };
}

}  // namespace zoetrope
