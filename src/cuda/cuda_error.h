// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime's errors as ours, and whose turn it is on this thread.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace zoetrope::cuda {

// Throws kOutOfMemory or kDevice, naming `what`, unless `error` is success.
void check(cudaError_t error, const std::string& what);

// Makes a device current on this thread and the one before it again at the end: callers have their
// own.
class DeviceScope {
 public:
  explicit DeviceScope(int index);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace zoetrope::cuda
