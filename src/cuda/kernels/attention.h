// SPDX-License-Identifier: Apache-2.0
// Attention with one head over the positions of each frame, as convs: keys, then values, take the
// place of a 1x1x1 conv's weights. All pointers are of device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

struct AttentionArgs {
  DType operands = DType::kFloat32;
  const void* qkv = nullptr;  // (frames, positions, 3 channels): q, k, v
  int64_t frames = 0;
  int64_t positions = 0;
  int64_t channels = 0;
  std::byte* workspace = nullptr;
  void* y = nullptr;  // (frames, positions, channels) = softmax(q k' / sqrt(channels)) v
};

// Scratch: floats for each position, and bytes beside them. Scores are float32; those of as many
// queries as fit 64 MiB are there at once, a number that depends on `positions` alone.
int64_t attention_workspace_per_position(DType operands, int64_t channels);
int64_t attention_workspace_fixed(DType operands, int64_t channels);

cudaError_t attention(const AttentionArgs& args, cudaStream_t stream);

}  // namespace zoetrope::cuda
