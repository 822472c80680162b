// SPDX-License-Identifier: Apache-2.0
// Copies between strided and dense host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace zoetrope::cuda {

using Axes = std::array<int64_t, 4>;

// The strides of dense memory whose axes come in the order of `strides`: nearest stays nearest.
Axes dense_like(const Axes& shape, const Axes& strides);

// Memory with strides in elements.
struct StridedBytes {
  std::byte* data = nullptr;
  Axes strides = {};
};

// Elements of `element` bytes, 1, 2 or 4; any alignment.
void copy_strided(const StridedBytes& from, const StridedBytes& to, const Axes& shape,
                  int64_t element);

}  // namespace zoetrope::cuda
