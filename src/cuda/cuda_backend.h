// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs. In a build without CUDA, cuda_absent.cc stands for all of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "zoetrope/autoencoder.h"
#include "zoetrope/tools.h"

namespace zoetrope::cuda {

// Those that can be used now, in the driver's order. Never throws for want of a driver.
std::vector<DeviceDescription> usable_devices();

// Why there is none of them, for people; empty if there is one.
std::string why_none();

// A GPU of that compute capability (ten times the major number and the minor) as a Target, here or
// not. Throws kUnsupported if no kernel runs there, or in a build without CUDA.
std::unique_ptr<const Target> cuda_target(int capability);

// `allocator`, if set, gives memory of the device. `capability`: ten times that whose kernels it
// uses; 0: the device's. Throws kUnsupported in a build without CUDA, kDevice if there is no such
// device, it is too old, or it cannot run those kernels.
std::unique_ptr<Backend> open_cuda_backend(int index, Allocator allocator, int capability = 0);

}  // namespace zoetrope::cuda
