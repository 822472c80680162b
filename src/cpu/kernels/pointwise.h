// SPDX-License-Identifier: Apache-2.0
// Ops on one pixel's channels at a time, and copies.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::cpu {

// Values are of the type `operands`, float32 or bfloat16; arithmetic is float32 in both.
struct PointwiseKernels {
  int64_t target;  // Highway's bit of the instruction set
  DType operands;

  // y = x / max(|x|, 1e-12) * sqrt(channels) * gamma over (pixels, channels), then SiLU if `silu`.
  // y may be x.
  void (*rms_norm)(const void* x, const float* gamma, int64_t pixels, int64_t channels, bool silu,
                   void* y, ThreadPool& pool, const LoopControl& control);

  // y = x * sigmoid(x) over `count` elements. y may be x.
  void (*silu)(const void* x, int64_t count, void* y, ThreadPool& pool, const LoopControl& control);

  // y = x + residual over `count` elements. y may be either.
  void (*add)(const void* x, const void* residual, int64_t count, void* y, ThreadPool& pool,
              const LoopControl& control);
};

// One set for each instruction set that this machine can run and each type, best first; every
// instruction set has both types.
std::span<const PointwiseKernels> pointwise_kernels();

// Every pixel becomes 2 x 2: (frames, height, width) pixels of `pixel_bytes` bytes each ->
// (frames, 2 height, 2 width).
void upsample_nearest(const void* x, int64_t frames, int64_t height, int64_t width,
                      int64_t pixel_bytes, void* y, ThreadPool& pool, const LoopControl& control);

// (frames, pixels, 2 halves) -> (2 frames, pixels): the first half of a pixel's channels belongs to
// the earlier frame. A half has `half_bytes` bytes.
void frame_interleave(const void* x, int64_t frames, int64_t pixels, int64_t half_bytes, void* y,
                      ThreadPool& pool, const LoopControl& control);

// history = the last `history_frames` frames of (history, x). A frame has `frame_bytes` bytes.
void carry(const void* x, int64_t frames, int64_t frame_bytes, int64_t history_frames,
           void* history);

}  // namespace zoetrope::cpu
