// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "base/fail.h"
#include "checkpoint/byte_view.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/gguf.h"
#include "checkpoint/writable_tensors.h"

namespace zoetrope {
namespace {

constexpr const char* kFormat = "GGUF";
constexpr size_t kLongestName = 63;  // GGML_MAX_NAME, without the zero at its end

std::string text(std::string_view value) {
  return little_endian(value.size(), 8) + std::string(value);
}

std::string key(std::string_view name, GgufValue type) {
  return text(name) + little_endian(static_cast<uint64_t>(type), 4);
}

std::string shape_key(const TensorInfo& tensor) {
  std::string bytes = key(std::string(kGgufShapeKey) + tensor.name, GgufValue::kArray) +
                      little_endian(static_cast<uint64_t>(GgufValue::kInt32), 4) +
                      little_endian(tensor.shape.size(), 8);
  for (const int64_t extent : tensor.shape)
    bytes += little_endian(static_cast<uint64_t>(extent), 4);
  return bytes;
}

// The slowest axes multiplied together until four are left: a conv's c_out with its c_in, as
// stable-diffusion.cpp has them.
std::vector<int64_t> folded(std::vector<int64_t> shape) {
  while (shape.size() > kGgufDims) {
    // Only an empty tensor's extents can overflow.
    shape[1] = checked_multiply(shape[0], shape[1]).value_or(0);
    shape.erase(shape.begin());
  }
  return shape;
}

uint32_t type_of(const std::string& path, const TensorInfo& tensor) {
  for (const GgufType& row : kGgufTypes) {
    if (row.dtype == tensor.dtype) return row.id;
  }
  refuse_to_write(path, kFormat,
                  fmt::format("{} is {}, which ggml has no type for: choose another format",
                              tensor.name, name_of(tensor.dtype)));
}

void check_tensor(const std::string& path, const TensorInfo& tensor) {
  if (tensor.name.size() > kLongestName) {
    refuse_to_write(path, kFormat,
                    fmt::format("{}: a name of {} bytes; expected at most {}: rename the tensor",
                                tensor.name, tensor.name.size(), kLongestName));
  }
  const bool wide = std::ranges::any_of(tensor.shape, [](int64_t e) { return e > INT32_MAX; });
  if (tensor.shape.size() > kGgufDims && wide) {
    refuse_to_write(path, kFormat, tensor.name + ": extents above 2^31 in more than four axes");
  }
}

}  // namespace

void write_gguf(const std::string& path, std::vector<TensorInfo> tensors,
                const std::string& architecture, const WriteTensor& write) {
  const std::vector<size_t> sizes = prepare_tensors(path, kFormat, tensors);
  std::string keys = key("general.architecture", GgufValue::kString) + text(architecture);
  uint64_t key_count = 1;
  std::string rows;
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    check_tensor(path, tensor);
    if (tensor.shape.size() > kGgufDims) {
      keys += shape_key(tensor);
      ++key_count;
    }
    const std::vector<int64_t> shape = folded(tensor.shape);
    rows += text(tensor.name) + little_endian(shape.size(), 4);
    for (size_t axis = shape.size(); axis-- > 0;) {
      rows += little_endian(static_cast<uint64_t>(shape[axis]), 8);
    }
    rows += little_endian(type_of(path, tensor), 4) + little_endian(offset, 8);
    offset += aligned_size(sizes[i], kGgufAlignment);
  }
  FileWriter file(path);
  file.write(kGgufMagic);
  file.write(little_endian(kGgufVersion, 4) + little_endian(tensors.size(), 8) +
             little_endian(key_count, 8));
  file.write(keys);
  file.write(rows);
  file.pad(kGgufAlignment);
  for (size_t i = 0; i < tensors.size(); ++i) {
    write_aligned(file, kGgufAlignment, tensors[i], sizes[i], write);
  }
  file.pad(kGgufAlignment);
  file.close();
}

}  // namespace zoetrope
