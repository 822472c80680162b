// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writable_tensors.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/tensor_name.h"

namespace zoetrope {

std::vector<size_t> prepare_tensors(const std::string& path, const char* format,
                                    std::vector<TensorInfo>& tensors) {
  std::ranges::sort(tensors, {}, &TensorInfo::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &TensorInfo::name);
  if (twice != tensors.end()) {
    refuse_to_write(path, format, printable(twice->name) + " stands twice");
  }
  std::vector<size_t> sizes;
  int64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    check_tensor_name(path, tensor.name);
    const auto count = checked_element_count(tensor.shape);
    const auto size = count ? checked_multiply(*count, size_of(tensor.dtype)) : std::nullopt;
    if (!size || __builtin_add_overflow(total, *size, &total)) {
      refuse_to_write(path, format,
                      fmt::format("{}: shape {} is negative or larger than any file", tensor.name,
                                  to_string(tensor.shape)));
    }
    sizes.push_back(static_cast<size_t>(*size));
  }
  return sizes;
}

void write_aligned(FileWriter& file, size_t alignment, const TensorInfo& tensor, size_t size,
                   const WriteTensor& write) {
  file.pad(alignment);
  const size_t before = file.size();
  write(tensor, file);
  ZOETROPE_CHECK(file.size() - before == size, tensor.name);
}

void refuse_to_write(const std::string& path, const char* format, const std::string& what) {
  fail(ErrorCode::kInvalidArgument, "{}: cannot write {}: {}", path, format, what);
}

}  // namespace zoetrope
