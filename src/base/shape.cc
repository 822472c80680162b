// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace zoetrope {

std::string to_string(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::vector<int64_t> strides_of(const TensorView& view) {
  return view.strides.empty() ? contiguous_strides(view.shape) : view.strides;
}

bool is_contiguous(const TensorView& view) {
  const std::vector<int64_t> expected = contiguous_strides(view.shape);
  const std::vector<int64_t> found = strides_of(view);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (view.shape[i] > 1 && found[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace zoetrope
