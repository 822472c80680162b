// SPDX-License-Identifier: Apache-2.0
#include "cuda/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace zoetrope::cuda {
namespace {

// Axes from the one whose elements are nearest to the farthest.
std::array<size_t, 4> nearest_first(const Axes& strides) {
  std::array<size_t, 4> order = {3, 2, 1, 0};
  std::ranges::stable_sort(order, {}, [&](size_t axis) { return std::abs(strides[axis]); });
  return order;
}

}  // namespace

Axes dense_like(const Axes& shape, const Axes& strides) {
  Axes dense = {};
  int64_t step = 1;
  for (const size_t axis : nearest_first(strides)) {
    dense[axis] = step;
    step *= shape[axis];
  }
  return dense;
}

void copy_strided(const StridedBytes& from, const StridedBytes& to, const Axes& shape,
                  int64_t element) {
  const std::array<size_t, 4> order = nearest_first(from.strides);
  // Axes that lie densely on both sides are copied as one run.
  int64_t run = 1;
  size_t outer = 0;
  for (; outer < 4; ++outer) {
    const size_t axis = order[outer];
    const bool dense = from.strides[axis] == run && to.strides[axis] == run;
    if (!dense && shape[axis] != 1) break;
    run *= shape[axis];
  }
  std::array<int64_t, 4> counts = {1, 1, 1, 1};
  Axes from_steps = {};
  Axes to_steps = {};
  for (size_t i = outer; i < 4; ++i) {
    counts[i - outer] = shape[order[i]];
    from_steps[i - outer] = from.strides[order[i]] * element;
    to_steps[i - outer] = to.strides[order[i]] * element;
  }
  const auto bytes = static_cast<size_t>(run * element);
  for (int64_t d = 0; d < counts[3]; ++d) {
    for (int64_t c = 0; c < counts[2]; ++c) {
      for (int64_t b = 0; b < counts[1]; ++b) {
        const std::byte* source =
            from.data + d * from_steps[3] + c * from_steps[2] + b * from_steps[1];
        std::byte* target = to.data + d * to_steps[3] + c * to_steps[2] + b * to_steps[1];
        for (int64_t a = 0; a < counts[0]; ++a) {
          std::memcpy(target, source, bytes);
          source += from_steps[0];
          target += to_steps[0];
        }
      }
    }
  }
}

}  // namespace zoetrope::cuda
