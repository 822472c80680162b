// SPDX-License-Identifier: Apache-2.0
// What the conv kernels are asked to compute: causal 3-D convs over NDHWC, and what follows them.
// All pointers are of device memory.
#pragma once

#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

// What graph::StoreMap says.
enum class Conv3dStore : uint8_t { kPlain, kFrameInterleave, kUpsamplePhases };

struct Conv3dArgs {
  DType operands = DType::kFloat32;  // of x, history, shortcut and the weights; or 16-bit floats
  DType residual_type = DType::kFloat32;
  DType y_type = DType::kFloat32;
  DType activated_type = DType::kFloat32;

  const void* x = nullptr;        // (frames, height, width, c_in)
  const void* history = nullptr;  // (kernel_time - stride_time, height, width, c_in); may be null
                                  // if first_tap leaves it unread
  int64_t frames = 0;             // a multiple of stride_time
  int64_t height = 0;
  int64_t width = 0;
  int64_t c_in = 0;
  int64_t pixel_stride = 0;  // of x and history, in elements; 0: c_in

  // Taps, strides and padding mean what graph::ConvShape says.
  int64_t kernel_time = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t first_tap = 0;
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  int64_t pad_before = 0;

  const void* weight = nullptr;  // as packed for the kernel
  const float* bias = nullptr;   // one for each filter, or null

  // One pixel of `shortcut` for each output pixel, times its own 1x1x1 weight: the last terms of
  // the sum. Null: none. Only with kPlain.
  const void* shortcut = nullptr;         // (out_frames, out_height, out_width, c_shortcut)
  const void* shortcut_weight = nullptr;  // packed like `weight`, with one tap
  int64_t c_shortcut = 0;

  // Like the output, added to it; may be the same memory as y or activated if it has that type. Or
  // null.
  const void* residual = nullptr;

  // The sum before rounding, over its norm: raw / max(|raw|, 1e-12) * sqrt(c_out) * gamma, then
  // SiLU if `silu`.
  const float* gamma = nullptr;  // (c_out)
  bool silu = false;

  // Output (out_frames, out_height, out_width, c_out), at least one of the two. kPlain: out_frames
  // = frames / stride_time and the weight has c_out filters. kFrameInterleave: twice as many
  // frames, and 2 c_out filters. kUpsamplePhases: twice x's height and width, and 4 c_out filters,
  // but c_out biases.
  Conv3dStore store = Conv3dStore::kPlain;
  void* y = nullptr;  // raw
  void* activated = nullptr;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t c_out = 0;

  void* workspace = nullptr;  // scratch of the size that the kernel asks for, or null

  // Filters that are packed as a weight of their own, each with its own outputs.
  int64_t parts() const {
    return store == Conv3dStore::kPlain ? 1 : store == Conv3dStore::kFrameInterleave ? 2 : 4;
  }
};

}  // namespace zoetrope::cuda
