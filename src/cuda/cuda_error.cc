// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_error.h"

#include "base/fail.h"

namespace zoetrope::cuda {

void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // else the next call would report it once more
  if (error == cudaErrorMemoryAllocation) {
    fail(ErrorCode::kOutOfMemory,
         "{}: the device has too little memory left; use a smaller size, fewer frames per step or "
         "a memory limit",
         what);
  }
  fail(ErrorCode::kDevice, "{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

DeviceScope::DeviceScope(int index) {
  check(cudaGetDevice(&previous_), "cuda");
  check(cudaSetDevice(index), "cuda:" + std::to_string(index));
}

DeviceScope::~DeviceScope() { (void)cudaSetDevice(previous_); }

}  // namespace zoetrope::cuda
