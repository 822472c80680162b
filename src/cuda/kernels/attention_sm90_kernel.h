// SPDX-License-Identifier: Apache-2.0
// The device side of attention_sm90, as its host side starts it.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace zoetrope::cuda {

inline constexpr int kAttentionSm90Channels = 384;
inline constexpr int kAttentionSm90Queries = 64;  // of a warpgroup
inline constexpr int kAttentionSm90Keys = 32;     // of a block
inline constexpr int kAttentionSm90Piece = 64;    // channels that one copy brings

// One tensor, (frames, positions, 3 channels), seen in boxes of so many queries or keys.
struct AttentionSm90Params {
  CUtensorMap queries;
  CUtensorMap keys;
  void* y;
  int32_t frames;
  int32_t positions;
  int32_t blocks;  // of a frame: each has queries for all of its warpgroups
  float scale;     // of a score, times log2(e)
};

struct AttentionSm90Launch {
  int warpgroups = 2;  // that share the keys, each with queries of its own; 1 or 2
  bool half = true;    // float16, or bfloat16
  cudaStream_t stream = nullptr;
};

cudaError_t start_attention_sm90(const AttentionSm90Params& params,
                                 const AttentionSm90Launch& launch);

}  // namespace zoetrope::cuda
