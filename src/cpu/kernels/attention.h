// SPDX-License-Identifier: Apache-2.0
// Attention with one head over the positions of each frame.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace zoetrope::cpu {

struct AttentionArgs {
  const float* qkv = nullptr;  // (frames, positions, 3 channels): q, k, v
  int64_t frames = 0;
  int64_t positions = 0;
  int64_t channels = 0;
  float* workspace = nullptr;  // workspace_elements floats
  float* y = nullptr;          // (frames, positions, channels) = softmax(q k' / sqrt(channels)) v
};

struct AttentionKernel {
  const char* name;  // "attention_f32_avx3"
  int64_t target;    // Highway's bit of the instruction set
  // Floats of scratch: workspace_fixed + workspace_per_position * positions.
  int64_t (*workspace_per_position)(int64_t channels);
  int64_t (*workspace_fixed)(int64_t channels);
  // Keys are walked in blocks whose size depends on `positions` and `channels` alone.
  void (*run)(const AttentionArgs& args, ThreadPool& pool, const LoopControl& control);
};

// The kernels that this machine can run, best first. Never empty.
std::span<const AttentionKernel> attention_kernels();

}  // namespace zoetrope::cpu
