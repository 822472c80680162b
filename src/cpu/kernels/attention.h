// SPDX-License-Identifier: Apache-2.0
// Attention with one head over the positions of each frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::cpu {

struct AttentionArgs {
  const void* qkv = nullptr;  // (frames, positions, 3 channels): q, k, v; operands
  int64_t frames = 0;
  int64_t positions = 0;
  int64_t channels = 0;
  float* workspace = nullptr;  // workspace_elements floats
  void* y = nullptr;  // operands (frames, positions, channels) = softmax(q k' / sqrt(channels)) v
};

struct AttentionKernel {
  const char* name;  // "attention_f32_avx3"
  int64_t target;    // Highway's bit of the instruction set
  DType operands;    // float32 or bfloat16; scores, softmax and sums are float32 in both
  // Floats of scratch: workspace_fixed + workspace_per_position * positions.
  int64_t (*workspace_per_position)(int64_t channels);
  int64_t (*workspace_fixed)(int64_t channels);
  // Keys are walked in blocks whose size depends on `positions` and `channels` alone.
  void (*run)(const AttentionArgs& args, ThreadPool& pool, const LoopControl& control);
};

// The kernels that this machine can run, best first; every instruction set has both types.
std::span<const AttentionKernel> attention_kernels();

// Those of a processor with `instruction_sets` (Highway's bits): of other machines too, to be
// asked.
std::vector<AttentionKernel> attention_kernels(int64_t instruction_sets);

}  // namespace zoetrope::cpu
