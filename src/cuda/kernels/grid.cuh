// SPDX-License-Identifier: Apache-2.0
// One-dimensional grids whose threads stride over any number of items.
#pragma once

#include <cstdint>

namespace zoetrope::cuda {

inline constexpr int kGridThreads = 256;

// Thread blocks for `items` items, `per_block` at a time; enough for any GPU.
inline unsigned grid_for(int64_t items, int64_t per_block = kGridThreads) {
  constexpr int64_t kMostBlocks = 16384;
  const int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < kMostBlocks ? (blocks > 0 ? blocks : 1) : kMostBlocks);
}

__device__ __forceinline__ int64_t grid_first() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t grid_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

}  // namespace zoetrope::cuda
