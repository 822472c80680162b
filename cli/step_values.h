// SPDX-License-Identifier: Apache-2.0
// The values of a step's result on the host.
#pragma once

#include <cstddef>
#include <vector>

#include "zoetrope/tools.h"

namespace zoetrope::cli {

// float32 (frames, height, width, channels), in place of what `values` held.
inline void read(const StepResult& result, std::vector<float>& values) {
  const ValueShape& shape = result.shape;
  values.resize(static_cast<size_t>(shape.frames * shape.height * shape.width * shape.channels));
  result.read(values.data());
}

}  // namespace zoetrope::cli
