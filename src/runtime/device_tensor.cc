// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_tensor.h"

#include <cstring>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"

namespace zoetrope {
namespace {

int64_t bytes_of(DType dtype, const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const auto count = checked_element_count(shape);
  if (!count || *count > kMost) {
    fail(ErrorCode::kInvalidArgument, "tensor: expected extents of 0 or more, found {}",
         to_string(shape));
  }
  return *count * size_of(dtype);
}

// A tensor and the memory that frees it, which must not outlive the backend.
struct Storage {
  std::shared_ptr<const Backend> backend;
  std::unique_ptr<Memory> memory;
};

bool is_on(const Device& device, const TensorView& view) {
  return view.device.kind == device.kind && view.device.index == device.index;
}

}  // namespace

NamedTensor make_tensor(const std::shared_ptr<const Backend>& backend, DType dtype,
                        const std::vector<int64_t>& shape) {
  const int64_t bytes = bytes_of(dtype, shape);
  auto storage = std::make_shared<Storage>(Storage{backend, backend->allocate(bytes)});
  const TensorView view = {.data = storage->memory->data(),
                           .dtype = dtype,
                           .device = backend->device(),
                           .shape = shape,
                           .strides = {}};
  return {.name = {}, .tensor = view, .storage = std::move(storage)};
}

void copy_tensor(const Backend& backend, const TensorView& from, const TensorView& to) {
  if (from.dtype != to.dtype || from.shape != to.shape || !is_contiguous(from) ||
      !is_contiguous(to)) {
    fail(ErrorCode::kInvalidArgument,
         "tensor: expected contiguous tensors of one type and shape, found {} {} and {} {}",
         name_of(from.dtype), to_string(from.shape), name_of(to.dtype), to_string(to.shape));
  }
  const bool from_host = is_on({}, from);
  const bool to_host = is_on({}, to);
  const Device device = backend.device();
  if ((!from_host && !to_host) || (!from_host && !is_on(device, from)) ||
      (!to_host && !is_on(device, to))) {
    fail(ErrorCode::kInvalidArgument,
         "tensor: expected memory of the host, and of the host or the model's device");
  }
  const int64_t bytes = bytes_of(from.dtype, from.shape);
  if (bytes == 0) return;
  auto* target = static_cast<std::byte*>(to.data);
  if (from_host && to_host) {
    std::memcpy(target, from.data, static_cast<size_t>(bytes));
  } else if (from_host) {
    backend.copy_from_host(target, from.data, bytes);
  } else {
    backend.copy_to_host(target, static_cast<const std::byte*>(from.data), bytes);
  }
}

}  // namespace zoetrope
