// SPDX-License-Identifier: Apache-2.0
// Tensors of any strides in row-major order.
#pragma once

#include <cstddef>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// The elements of `view`. The caller has checked that the number of elements and every element's
// address are in range.
std::vector<float> gather_floats(const TensorView& view);

// The same, in the view's own type.
std::vector<std::byte> gather_bytes(const TensorView& view);

}  // namespace zoetrope
