// SPDX-License-Identifier: Apache-2.0
// Stands for the backend where no CUDA toolkit was found when Zoetrope was built.
#include "base/fail.h"
#include "cuda/cuda_backend.h"

namespace zoetrope::cuda {

std::vector<DeviceDescription> usable_devices() { return {}; }

std::string why_none() { return "this build has no CUDA backend"; }

std::unique_ptr<const Target> cuda_target(int capability) {
  fail(ErrorCode::kUnsupported, "cuda-sm{}: this build has no CUDA backend; use one that has",
       capability);
}

std::unique_ptr<Backend> open_cuda_backend(int index, Allocator /*allocator*/, int /*capability*/) {
  fail(ErrorCode::kUnsupported, "cuda:{}: this build has no CUDA backend; use the device cpu",
       index);
}

}  // namespace zoetrope::cuda
