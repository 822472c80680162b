// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of kernels in a GPU's memory.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "cuda/cuda_backend.h"
#include "cuda/cuda_error.h"
#include "tests/cpu/kernel_buffers.h"

// For tests that need a GPU.
#define ZOETROPE_NEEDS_GPU() \
  if (!cuda::why_none().empty()) GTEST_SKIP() << "no GPU: " << cuda::why_none()

namespace zoetrope {

// Of the first GPU: 90 for 9.0; 0 if there is none.
inline int gpu_capability() {
  cudaDeviceProp properties;
  if (!cuda::why_none().empty()) return 0;
  cuda::check(cudaGetDeviceProperties(&properties, 0), "test");
  return 10 * properties.major + properties.minor;
}

// Bytes of device memory.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::span<const std::byte> bytes) : size_(bytes.size()) {
    cuda::check(cudaMalloc(&data_, std::max<size_t>(size_, 1)), "test");
    cuda::check(cudaMemcpy(data_, bytes.data(), size_, cudaMemcpyHostToDevice), "test");
  }
  DeviceBytes(DType dtype, std::span<const float> values)
      : DeviceBytes(std::span<const std::byte>(converted(dtype, values))) {}
  ~DeviceBytes() { (void)cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  // Null if empty.
  std::byte* data() const { return size_ == 0 ? nullptr : static_cast<std::byte*>(data_); }
  float* floats() const { return static_cast<float*>(data_); }

  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(size_);
    cuda::check(cudaMemcpy(bytes.data(), data_, size_, cudaMemcpyDeviceToHost), "test");
    return bytes;
  }

 private:
  static std::vector<std::byte> converted(DType dtype, std::span<const float> values) {
    std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
    for (size_t i = 0; i < values.size(); ++i) {
      store_from_float(bytes.data(), dtype, static_cast<int64_t>(i), values[i]);
    }
    return bytes;
  }

  void* data_ = nullptr;
  size_t size_;
};

// An output that starts as NaN between two guard zones.
class DeviceOutput {
 public:
  DeviceOutput(DType dtype, int64_t size)
      : dtype_(dtype), size_(size), bytes_(poisoned(size * size_of(dtype))) {}
  DeviceOutput(DType dtype, std::span<const float> values)
      : DeviceOutput(dtype, std::ssize(values)) {
    const DeviceBytes from(dtype, values);
    cuda::check(cudaMemcpy(data(), from.data(), values.size() * static_cast<size_t>(size_of(dtype)),
                           cudaMemcpyDeviceToDevice),
                "test");
  }

  std::byte* data() const { return bytes_.data() + kGuard; }

  // Expects the guards to hold.
  std::vector<float> values() const {
    const std::vector<std::byte> bytes = bytes_.read();
    const auto is_canary = [](std::byte value) { return value == kCanary; };
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kGuard, is_canary) &&
                std::all_of(bytes.end() - kGuard, bytes.end(), is_canary));
    std::vector<float> values(static_cast<size_t>(size_));
    convert_to_float(bytes.data() + kGuard, dtype_, size_, values.data());
    return values;
  }

 private:
  static constexpr int64_t kGuard = 256;
  static constexpr std::byte kCanary{0xa5};

  static std::vector<std::byte> poisoned(int64_t size) {
    std::vector<std::byte> bytes(static_cast<size_t>(2 * kGuard + size), kCanary);
    std::fill_n(bytes.begin() + kGuard, size, std::byte{0xff});
    return bytes;
  }

  DType dtype_;
  int64_t size_;
  DeviceBytes bytes_;
};

}  // namespace zoetrope
