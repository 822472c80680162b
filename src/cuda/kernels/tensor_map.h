// SPDX-License-Identifier: Apache-2.0
// Tensors of 16-bit elements as Hopper's copy engine sees them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

// Five dimensions, innermost first; the innermost is contiguous.
struct CopiedTensor {
  const void* data = nullptr;
  DType type = DType::kFloat16;  // or bfloat16
  std::array<int64_t, 5> sizes = {1, 1, 1, 1, 1};
  std::array<int64_t, 4> strides = {};  // of the outer four, in bytes, multiples of 16
  std::array<int64_t, 5> box = {1, 1, 1, 1, 1};
};

// A box's rows are swizzled where they have 64 or 128 bytes. Elements outside are copied as zeros.
cudaError_t encode_tensor_map(const CopiedTensor& tensor, CUtensorMap& map);

}  // namespace zoetrope::cuda
