// SPDX-License-Identifier: Apache-2.0
// Tensors that the caller owns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zoetrope/export.h"

namespace zoetrope {
inline namespace v0 {

enum class DType : uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
};

// Bytes of one element.
ZOETROPE_API int64_t size_of(DType dtype);

// "float32", "bfloat16", ...: PyTorch's names.
ZOETROPE_API std::string_view name_of(DType dtype);

// Where a tensor's memory is. Memory of a GPU is read and written in place by a model on the same
// GPU; work of the caller's on it must be done before a call, and is not waited for, unless both
// are in the order of one StreamOptions::cuda_stream.
enum class DeviceKind : uint8_t { kCpu, kCuda };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
};

// Memory with a type and a shape; owns nothing. Functions that take a TensorView as input never
// write through it.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Device device = {};
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // in elements; empty means contiguous, row-major
};

// A view with a name and, if the storage is not the caller's, the memory that keeps it alive.
struct NamedTensor {
  std::string name;
  TensorView tensor;
  std::shared_ptr<void> storage = {};
};

}  // namespace v0
}  // namespace zoetrope
