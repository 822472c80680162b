// SPDX-License-Identifier: Apache-2.0
// Tensors in a device's memory for callers that cannot reach it otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {

// Its storage keeps the backend. Throws kInvalidArgument for a shape that means nothing.
NamedTensor make_tensor(const std::shared_ptr<const Backend>& backend, DType dtype,
                        const std::vector<int64_t>& shape);

// Between contiguous tensors of one type and shape. Throws kInvalidArgument if they are not.
void copy_tensor(const Backend& backend, const TensorView& from, const TensorView& to);

}  // namespace zoetrope
