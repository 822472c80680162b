// SPDX-License-Identifier: Apache-2.0
// Which weights a lane of conv3d_mma reads with one load.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ZOETROPE_HOST_DEVICE __host__ __device__
#else
#define ZOETROPE_HOST_DEVICE
#endif

namespace zoetrope::cuda {

// The 16 bytes of lane 4 g + t, `index` by half of the chunk, 16 filters and lane: both operands
// of two matrix products, which read the 4 bytes of channels at 4 t and at 16 + 4 t of the half for
// their column g. Columns are given to filters such that a lane's four sums of the two products,
// columns 2 t and 2 t + 1 of each, are those of neighbours, which are stored together.
class Conv3dMmaLane {
 public:
  ZOETROPE_HOST_DEVICE Conv3dMmaLane(int64_t index, int64_t block_filters, int64_t element_bytes)
      : size_(element_bytes),
        group_(index % 32 / 4),
        byte_(index / 32 / (block_filters / 16) * 32 + index % 4 * 4),
        first_filter_(index / 32 % (block_filters / 16) * 16) {}

  // Of element i of the 16 bytes, counted from the block's and the chunk's first.
  ZOETROPE_HOST_DEVICE int64_t filter(int64_t i) const {
    return first_filter_ + group_ / 2 * 4 + word(i) / 2 * 2 + group_ % 2;
  }
  ZOETROPE_HOST_DEVICE int64_t channel(int64_t i) const {
    return (byte_ + word(i) % 2 * 16) / size_ + i % (4 / size_);
  }

 private:
  ZOETROPE_HOST_DEVICE int64_t word(int64_t i) const { return i * size_ / 4; }

  int64_t size_;
  int64_t group_;
  int64_t byte_;
  int64_t first_filter_;
};

}  // namespace zoetrope::cuda
