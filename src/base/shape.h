// SPDX-License-Identifier: Apache-2.0
// Shapes as text, and the strides of a contiguous tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// "[384,16,3,3,3]"
std::string to_string(std::span<const int64_t> shape);

// Row-major strides, in elements.
std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape);

// The view's strides, or those of a contiguous tensor if it names none.
std::vector<int64_t> strides_of(const TensorView& view);

bool is_contiguous(const TensorView& view);

}  // namespace zoetrope
