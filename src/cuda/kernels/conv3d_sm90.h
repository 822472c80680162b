// SPDX-License-Identifier: Apache-2.0
// Causal 3-D convs over NDHWC on Hopper's matrix units. Sums are float, in one order that belongs
// to the layer, so a pixel's bits depend on its inputs alone.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/kernels/conv3d.h"
#include "cuda/kernels/conv3d_tile.h"

namespace zoetrope::cuda {

// What is packed: (filters, c_in, kernel_time, kernel_height, kernel_width).
struct Conv3dSm90Weight {
  const float* values = nullptr;
  int64_t filters = 0;
  int64_t c_in = 0;
  int64_t kernel_time = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t stride_space = 1;
  int64_t chunk = 0;  // of a shortcut: that of the conv that it belongs to; 0: its own
  int64_t parts = 1;  // filters / parts are packed as a weight of their own each
  DType operands = DType::kFloat16;
};

// Why this kernel cannot run `args`, whatever the frames, height and width; empty if it can. Its
// operands are of 16 bits, and its results, but that up to 8 filters may give float32. Sizes are
// even where stride_space is 2.
std::string conv3d_sm90_refusal(const Conv3dArgs& args);

// Input channels that such a conv takes at a time.
int64_t conv3d_sm90_chunk(const Conv3dArgs& args);

int64_t conv3d_sm90_packed_bytes(const Conv3dSm90Weight& weight);
void conv3d_sm90_pack(const Conv3dSm90Weight& weight, std::byte* packed);

// The tile that `args` run well on; results do not depend on it.
Conv3dTile conv3d_sm90_tile(const Conv3dArgs& args);

cudaError_t conv3d_sm90(const Conv3dArgs& args, const Conv3dTile& tile, cudaStream_t stream);

}  // namespace zoetrope::cuda
