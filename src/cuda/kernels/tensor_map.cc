// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/tensor_map.h"

#include <cudaTypedefs.h>

#include <algorithm>

namespace zoetrope::cuda {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const PFN_cuTensorMapEncodeTiled_v12000 function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                     &result);
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
  }();
  return function;
}

CUtensorMapSwizzle swizzle_of(int64_t row_bytes) {
  if (row_bytes == 128) return CU_TENSOR_MAP_SWIZZLE_128B;
  return row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

cudaError_t encode_tensor_map(const CopiedTensor& tensor, CUtensorMap& map) {
  if (encoder() == nullptr) return cudaErrorNotSupported;
  std::array<cuuint64_t, 5> sizes;
  std::array<cuuint64_t, 4> strides;
  std::array<cuuint32_t, 5> box;
  std::ranges::copy(tensor.sizes, sizes.begin());
  std::ranges::copy(tensor.strides, strides.begin());
  std::ranges::transform(tensor.box, box.begin(),
                         [](int64_t size) { return static_cast<cuuint32_t>(size); });
  const std::array<cuuint32_t, 5> steps = {1, 1, 1, 1, 1};
  const CUtensorMapDataType type = tensor.type == DType::kFloat16
                                       ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUresult result = encoder()(
      &map, type, 5, const_cast<void*>(tensor.data), sizes.data(), strides.data(), box.data(),
      steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(tensor.box[0] * 2),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace zoetrope::cuda
