// SPDX-License-Identifier: Apache-2.0
// The device side of conv3d_sm90, as its host side starts it.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernels/conv3d_sm90_params.h"

namespace zoetrope::cuda {

inline constexpr int kMaxStagesA = 8;
inline constexpr int kMaxStagesB = 16;

// By filters of a part, and channels of a chunk where there are two kinds.
enum class Conv3dSm90Variant : int32_t {
  kFew,
  k96,
  k96OfPictures,
  k192,
  k192Of32,
  k384,
  k384Small
};

struct Conv3dSm90Launch {
  Conv3dSm90Variant variant = Conv3dSm90Variant::k96;
  Element operands = Element::kFloat16;
  cudaStream_t stream = nullptr;
};

cudaError_t start_conv3d_sm90(const Conv3dSm90Params& params, const Conv3dSm90Launch& launch);

}  // namespace zoetrope::cuda
