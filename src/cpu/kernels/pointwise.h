// SPDX-License-Identifier: Apache-2.0
// Ops on one pixel's channels at a time, and copies.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace zoetrope::cpu {

struct PointwiseKernels {
  int64_t target;  // Highway's bit of the instruction set

  // y = x / max(|x|, 1e-12) * sqrt(channels) * gamma over (pixels, channels), then SiLU if `silu`.
  // y may be x.
  void (*rms_norm)(const float* x, const float* gamma, int64_t pixels, int64_t channels, bool silu,
                   float* y, ThreadPool& pool, const LoopControl& control);

  // y = x * sigmoid(x) over `count` elements. y may be x.
  void (*silu)(const float* x, int64_t count, float* y, ThreadPool& pool,
               const LoopControl& control);

  // y = x + residual over `count` elements. y may be either.
  void (*add)(const float* x, const float* residual, int64_t count, float* y, ThreadPool& pool,
              const LoopControl& control);
};

// One set for each instruction set that this machine can run, best first. Never empty.
std::span<const PointwiseKernels> pointwise_kernels();

// Every pixel becomes 2 x 2: (frames, height, width, channels) -> (.., 2 height, 2 width, ..).
void upsample_nearest(const float* x, int64_t frames, int64_t height, int64_t width,
                      int64_t channels, float* y, ThreadPool& pool, const LoopControl& control);

// (frames, pixels, 2 channels) -> (2 frames, pixels, channels): the first half of a pixel's
// channels belongs to the earlier frame.
void frame_interleave(const float* x, int64_t frames, int64_t pixels, int64_t channels, float* y,
                      ThreadPool& pool, const LoopControl& control);

// history = the last `history_frames` frames of (history, x). A frame has `frame_size` elements.
void carry(const float* x, int64_t frames, int64_t frame_size, int64_t history_frames,
           float* history);

}  // namespace zoetrope::cpu
