// SPDX-License-Identifier: Apache-2.0
// The conv kernels, one row each: which convs they can run, how their weights are packed, and their
// launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cuda/kernels/conv3d.h"

namespace zoetrope::cuda {

// Compute capability of Hopper, whose own kernels, for 9.0a, run nowhere else.
inline constexpr int kHopper = 90;

// What a weight is packed for: "conv3d_mma/float16/96/4".
struct ConvLayout {
  std::string kernel;
  DType operands = DType::kFloat32;
  int64_t variant = 0;  // the kernel's own number
  int64_t parts = 1;    // filters / parts are packed as a weight of their own each

  std::string text() const;
  // Throws kInternal if `text` is none.
  static ConvLayout parse(const std::string& text);
};

struct ConvKernel {
  const char* name;  // "conv3d_mma"; a step's kernel is this and the operands' type
  // Why it cannot run such a conv, whatever the frames, height and width; empty if it can. Pointers
  // of `args` say what is there, and are not read.
  std::string (*refusal)(const Conv3dArgs& args, int capability);
  int64_t (*layout_variant)(const Conv3dArgs& args);
  // `shape` is (filters, c_in, kernel_time, kernel_height, kernel_width).
  int64_t (*packed_bytes)(const ConvLayout& layout, const std::vector<int64_t>& shape);
  std::vector<std::byte> (*pack)(const ConvLayout& layout, const std::vector<int64_t>& shape,
                                 const float* values);
  cudaError_t (*run)(const Conv3dArgs& args, cudaStream_t stream);
  // Operands of scratch for each pixel of x and of history.
  int64_t workspace_per_pixel = 0;
};

// Why a GPU has no kernel of Hopper's tier; empty if it has.
std::string sm90_tier_refusal(int capability);

// The most specific first; the last runs every conv.
std::span<const ConvKernel> conv_kernels();

// "conv3d_mma_f16"
std::string step_kernel_name(const char* kernel, DType operands);

}  // namespace zoetrope::cuda
