// SPDX-License-Identifier: Apache-2.0
// What conv3d_mma's host side tells its device side.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/conv3d_mma.h"

namespace zoetrope::cuda {

// Frames of pixels that operands are read from.
struct Conv3dMmaImage {
  const std::byte* frames = nullptr;
  const std::byte* history = nullptr;
  int64_t frame_bytes = 0;
  int32_t pixel_bytes = 0;    // between pixels
  int32_t channel_bytes = 0;  // that count
  int32_t chunks = 0;         // of 64 bytes
  int32_t height = 0;
  int32_t width = 0;
  int32_t pixels = 0;  // less than height * width where a frame is no rectangle
};

// The pixels that a stage of shared memory holds: those of a tile for one tap, or for all taps of a
// plane.
struct Conv3dMmaBox {
  int32_t row = 16;             // pixels
  int32_t pixels = 0;           // in all
  int32_t row_magic = 1 << 16;  // pixel / row = pixel * row_magic >> 20
};

struct Conv3dMmaParams {
  Conv3dMmaImage x;
  Conv3dMmaImage shortcut;  // chunks = 0: none
  const std::byte* weight;
  const std::byte* shortcut_weight;
  const float* bias;   // or null
  const float* gamma;  // or null
  const void* residual;
  void* y;
  void* activated;
  DType residual_type;
  DType y_type;
  DType activated_type;

  int32_t first_tap;
  int32_t kernel_time;
  int32_t kernel_height;
  int32_t kernel_width;
  int32_t stride_time;
  int32_t stride_space;
  int32_t pad_before;

  bool whole_plane;  // a box holds what all taps of a plane read
  Conv3dMmaBox box;
  int32_t stages_a;
  int32_t stage_a_bytes;
  int64_t part_weight_bytes;
  int64_t block_weight_bytes;
  int64_t block_shortcut_bytes;

  // The grid of output pixels of a part, in tiles of so many rows of 16.
  int32_t grid_height;
  int32_t grid_width;
  int32_t grid_pixels;  // less than height * width where a frame is no rectangle
  int32_t tiles_x;
  int32_t tiles_y;
  int32_t parts;
  int32_t blocks;       // of filters
  int32_t frame_scale;  // 2: part p is frame 2 t + p
  int32_t space_scale;  // 2: part (p, q) is pixel (2 y + p, 2 x + q), its window p and q further on
  int32_t out_width;
  int64_t out_frame_pixels;
  int32_t c_out;
  bool aligned;  // 16 bytes of x's and the shortcut's channels can be copied at once
  bool wide;     // outputs and residual go four channels at a time, in the width of the operands
  bool silu;
  float root_channels;  // sqrt(c_out)
};

inline constexpr int kConv3dMmaPixelBytes = 80;  // of a stage: 64, and 16 that keep banks apart
inline constexpr int kConv3dMmaStagesB = 3;
// That a thread block can have on every GPU of sm_80 and later.
inline constexpr int kConv3dMmaSharedBytes = 99 << 10;

// Rows of 16 pixels in a tile.
int conv3d_mma_rows(DType operands, int64_t block_filters);

// `tiles`: thread blocks. `shared_bytes` of each: at most kConv3dMmaSharedBytes.
cudaError_t start_conv3d_mma(const Conv3dMmaParams& params, DType operands, int64_t block_filters,
                             int64_t tiles, int shared_bytes, cudaStream_t stream);

}  // namespace zoetrope::cuda
