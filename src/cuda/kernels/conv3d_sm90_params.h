// SPDX-License-Identifier: Apache-2.0
// What conv3d_sm90's host side tells its device side, by value.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace zoetrope::cuda {

inline constexpr int kMaxPlanes = 4;
inline constexpr int kMaxSpatialTaps = 9;

enum class Element : int32_t { kFloat16, kBFloat16, kFloat32 };  // float32: of few filters

// One operand box for each (temporal tap, channel chunk, plane). A stride-1 conv has one plane, the
// whole frame; a stride-2 conv has one for each parity of row and column that its taps touch.
struct Conv3dSm90Plane {
  int32_t c = 0;  // added to the box's origin
  int32_t x = 0;
  int32_t parity = 0;
  int32_t y = 0;
  int32_t first_tap = 0;  // in Conv3dSm90Params::tap_offset
  int32_t taps = 0;
};

struct Conv3dSm90Params {
  CUtensorMap x;
  CUtensorMap history;
  CUtensorMap shortcut;
  CUtensorMap residual;
  const std::byte* weight;
  const std::byte* shortcut_weight;
  const float* bias;   // or null
  const float* gamma;  // or null
  void* y;
  void* activated;

  int32_t first_tap;  // temporal taps [first_tap, kernel_time)
  int32_t kernel_time;
  int32_t stride_time;
  int32_t history_frames;
  int32_t chunks;  // of input channels
  int32_t shortcut_chunks;
  int32_t planes;
  Conv3dSm90Plane plane[kMaxPlanes];
  // Of the first pixel of a tap's window in the box, in bytes / 16; the last is the shortcut's.
  int32_t tap_offset[kMaxSpatialTaps + 1];
  int64_t slice_weight_bytes;  // of one block's filters of one part
  int64_t slice_shortcut_bytes;

  int32_t blocks_x;  // 8x8 pixels each
  int32_t blocks_y;
  int32_t pitch;      // pixels in a row of the box
  int32_t box_bytes;  // that one copy brings
  int32_t stages_a;
  int32_t stage_a_bytes;
  int32_t stages_b;
  int32_t taps_per_stage;

  int32_t tiles;
  int32_t parts;
  int32_t frames;  // of the grid of output pixels, before the store map
  int32_t height;
  int32_t width;
  int32_t tiles_x;
  int32_t c_out;
  int32_t frame_scale;  // 2: part p is frame 2 t + p
  int32_t space_scale;  // 2: part (p, q) is pixel (2 y + p, 2 x + q), its window p and q further on
  Element raw_type;     // of residual and y
  Element activated_type;
  bool has_residual;
  bool silu;
  float root_channels;  // sqrt(c_out)
};

}  // namespace zoetrope::cuda
