// SPDX-License-Identifier: Apache-2.0
// Ops on one pixel's channels at a time, and copies. Values are float32, float16 or bfloat16 each;
// arithmetic is float32. All pointers are of device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

struct Input {
  const void* data = nullptr;
  DType type = DType::kFloat32;
};
struct Output {
  void* data = nullptr;
  DType type = DType::kFloat32;
};

// y = x / max(|x|, 1e-12) * sqrt(channels) * gamma over (pixels, channels), then SiLU if `silu`.
// y may be x if it has its type.
struct RmsNormArgs {
  Input x;
  const float* gamma = nullptr;
  int64_t pixels = 0;
  int64_t channels = 0;
  bool silu = false;
  Output y;
};
cudaError_t rms_norm(const RmsNormArgs& args, cudaStream_t stream);

// y = x * sigmoid(x) over `count` elements. y may be x if it has its type.
cudaError_t silu(const Input& x, int64_t count, const Output& y, cudaStream_t stream);

// y = x + residual over `count` elements. y may be either if it has its type.
cudaError_t add(const Input& x, const Input& residual, int64_t count, const Output& y,
                cudaStream_t stream);

// Frames of pixels of `pixel_bytes` bytes each.
struct PixelCopy {
  const void* x = nullptr;
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixel_bytes = 0;
  void* y = nullptr;
};

// Pixels of 1 to 8 elements of 16 bits, spread to 8 with zeros: those of `before`, then those of x.
struct PixelSpread {
  const void* before = nullptr;
  int64_t pixels_before = 0;
  const void* x = nullptr;
  int64_t pixels = 0;
  int64_t channels = 0;
  void* y = nullptr;
};
cudaError_t spread_pixels(const PixelSpread& spread, cudaStream_t stream);

// Each pixel's window, tap after tap, as one pixel of `window` elements; zeros outside the frame
// and after the last. Frames of `before`, then those of x.
struct PixelWindows {
  const void* before = nullptr;
  int64_t frames_before = 0;
  const void* x = nullptr;
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t element_bytes = 0;  // 2 or 4
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t pad_before = 0;
  int64_t window = 0;  // a multiple of 16 bytes
  void* y = nullptr;
};
cudaError_t gather_windows(const PixelWindows& windows, cudaStream_t stream);

// Every pixel becomes 2 x 2: (frames, height, width) -> (frames, 2 height, 2 width).
cudaError_t upsample_nearest(const PixelCopy& copy, cudaStream_t stream);

// (frames, height, width, 2 halves) -> (2 frames, height, width): the first half of a pixel's
// channels belongs to the earlier frame. `pixel_bytes` of a half.
cudaError_t frame_interleave(const PixelCopy& copy, cudaStream_t stream);

// history = the last `history_frames` frames of (history, x). A frame has `frame_bytes` bytes.
struct CarryArgs {
  const void* x = nullptr;
  int64_t frames = 0;
  int64_t frame_bytes = 0;
  int64_t history_frames = 0;
  void* history = nullptr;
};
cudaError_t carry(const CarryArgs& args, cudaStream_t stream);

}  // namespace zoetrope::cuda
