// SPDX-License-Identifier: Apache-2.0
#include "cuda/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace zoetrope {
namespace {

using cuda::Axes;

// Whatever the axes' order, dense memory and back is the same tensor.
TEST(StridedCopy, GoesThroughDenseMemoryAndBack) {
  const Axes shape = {2, 3, 4, 5};
  for (const Axes& strides : {Axes{60, 20, 5, 1}, Axes{12, 4, 1, 24}, Axes{60, 4, 1, 12},
                              Axes{200, 60, 10, 2}, Axes{60, 20, -5, 1}, Axes{60, 20, 5, -1}}) {
    std::vector<uint16_t> from(2000);
    std::iota(from.begin(), from.end(), uint16_t{1});
    std::vector<uint16_t> dense(120), to(from.size());
    const Axes dense_strides = cuda::dense_like(shape, strides);
    const auto bytes = [](std::vector<uint16_t>& values, int64_t first) {
      return reinterpret_cast<std::byte*>(values.data() + first);
    };
    cuda::copy_strided({bytes(from, 500), strides}, {bytes(dense, 0), dense_strides}, shape, 2);
    EXPECT_EQ(std::accumulate(dense.begin(), dense.end(), 0) != 0, true);
    cuda::copy_strided({bytes(dense, 0), dense_strides}, {bytes(to, 500), strides}, shape, 2);
    for (int64_t i = 0; i < 120; ++i) {
      const int64_t at = 500 + i / 60 * strides[0] + i / 20 % 3 * strides[1] +
                         i / 5 % 4 * strides[2] + i % 5 * strides[3];
      const auto index = static_cast<size_t>(at);
      ASSERT_EQ(to[index], from[index]);
      ASSERT_EQ(to[index], static_cast<uint16_t>(at + 1));
    }
  }
}

TEST(StridedCopy, ReadsOnePixelForMany) {
  std::vector<uint8_t> from = {7, 8, 9};
  std::vector<uint8_t> to(12);
  cuda::copy_strided({reinterpret_cast<std::byte*>(from.data()), {0, 0, 0, 1}},
                     {reinterpret_cast<std::byte*>(to.data()), {12, 6, 3, 1}}, {1, 2, 2, 3}, 1);
  EXPECT_EQ(to, (std::vector<uint8_t>{7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9}));
}

}  // namespace
}  // namespace zoetrope
