// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gather.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"

namespace zoetrope {
namespace {

int64_t element_count(const TensorView& view) {
  const std::optional<int64_t> count = checked_element_count(view.shape);
  ZOETROPE_CHECK(count.has_value(), to_string(view.shape));
  return *count;
}

// Steps `index` to the next row (all axes but the last) in row-major order and returns how far the
// row's first element moves, in elements.
int64_t next_row(const TensorView& view, std::vector<int64_t>& index) {
  int64_t moved = 0;
  for (size_t axis = view.shape.size() - 1; axis-- > 0;) {
    if (++index[axis] < view.shape[axis]) return moved + view.strides[axis];
    moved -= (view.shape[axis] - 1) * view.strides[axis];
    index[axis] = 0;
  }
  return moved;
}

// Calls row(first element, elements before it in row-major order) for each row.
template <typename Row>
void for_each_row(const TensorView& view, int64_t count, const Row& row) {
  std::vector<int64_t> index(view.shape.size());
  int64_t first = 0;
  for (int64_t done = 0; done < count; done += view.shape.back()) {
    row(first, done);
    first += next_row(view, index);
  }
}

void gather_row(const TensorView& view, int64_t first, float* destination) {
  const int64_t stride = view.strides.back();
  if (stride == 1) {
    const auto* row = static_cast<const std::byte*>(view.data) + first * size_of(view.dtype);
    convert_to_float(row, view.dtype, view.shape.back(), destination);
    return;
  }
  for (int64_t i = 0; i < view.shape.back(); ++i) {
    destination[i] = load_as_float(view.data, view.dtype, first + i * stride);
  }
}

}  // namespace

std::vector<float> gather_floats(const TensorView& view) {
  const int64_t count = element_count(view);
  std::vector<float> values(static_cast<size_t>(count));
  if (count == 0) return values;
  if (is_contiguous(view)) {
    convert_to_float(view.data, view.dtype, count, values.data());
    return values;
  }
  for_each_row(view, count,
               [&](int64_t first, int64_t done) { gather_row(view, first, values.data() + done); });
  return values;
}

std::vector<std::byte> gather_bytes(const TensorView& view) {
  const int64_t count = element_count(view);
  const int64_t item = size_of(view.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(count * item));
  if (count == 0) return bytes;
  const auto* data = static_cast<const std::byte*>(view.data);
  if (is_contiguous(view)) {
    std::memcpy(bytes.data(), data, bytes.size());
    return bytes;
  }
  for_each_row(view, count, [&](int64_t first, int64_t done) {
    for (int64_t i = 0; i < view.shape.back(); ++i) {
      const int64_t element = first + i * view.strides.back();
      std::memcpy(bytes.data() + (done + i) * item, data + element * item,
                  static_cast<size_t>(item));
    }
  });
  return bytes;
}

}  // namespace zoetrope
