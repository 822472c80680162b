// SPDX-License-Identifier: Apache-2.0
// Convs on the tensor cores of any GPU of sm_80 and later, for any shape: 16-bit operands, or
// float32 as three products of its halves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/conv3d.h"

namespace zoetrope::cuda {

// What the packed weights are laid out for.
struct Conv3dMmaLayout {
  DType operands = DType::kFloat32;
  int64_t block_filters = 0;  // that a thread block computes: one of kConv3dMmaBlocks
  int64_t parts = 1;          // filters / parts are packed as a weight of their own each
};

// To be packed: (filters, c_in, kernel_time, plane_taps), float32.
struct Conv3dWeight {
  const float* values = nullptr;
  int64_t filters = 0;
  int64_t c_in = 0;
  int64_t kernel_time = 1;
  int64_t plane_taps = 1;  // height * width of the kernel
};

inline constexpr int64_t kConv3dMmaBlocks[] = {16, 32, 96, 192, 384};

// A norm needs all of a pixel's channels in one block.
inline constexpr int64_t kConv3dMmaMostNormed = 384;

// For a part of c_out filters.
int64_t conv3d_mma_block(int64_t c_out, bool norm);

int64_t conv3d_mma_packed_bytes(const Conv3dMmaLayout& layout, const Conv3dWeight& weight);
void conv3d_mma_pack(const Conv3dMmaLayout& layout, const Conv3dWeight& weight, std::byte* packed);

// `block_filters`: that the weights were packed for. Throws kInternal if the arguments contradict
// each other.
cudaError_t conv3d_mma(const Conv3dArgs& args, int64_t block_filters, cudaStream_t stream);

}  // namespace zoetrope::cuda
