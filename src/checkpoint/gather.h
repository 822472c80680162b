// SPDX-License-Identifier: Apache-2.0
// Tensors of any strides as row-major float32.
#pragma once

#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// The elements of `view` in row-major order. The caller has checked that the number of elements and
// every element's address are in range.
std::vector<float> gather_floats(const TensorView& view);

}  // namespace zoetrope
