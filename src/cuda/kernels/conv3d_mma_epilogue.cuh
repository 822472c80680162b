// SPDX-License-Identifier: Apache-2.0
// What conv3d_mma does with its sums: bias, residual, norm, SiLU, and where results go.
#pragma once

#include <type_traits>

#include "cuda/kernels/conv3d_mma_params.h"
#include "cuda/kernels/number.cuh"

namespace zoetrope::cuda {

// What one thread block computes.
struct Conv3dMmaTile {
  int part;
  int block;  // of filters
  int frame;  // of the part
  int y;      // of the part's grid
  int x;
};

// Sums of one thread: [16 pixels][8 filters][row / 8][column % 2 of 2 (lane % 4)], see PTX's
// mma.m16n8.
template <typename V>
using Conv3dMmaSums = float[V::kTilesM][V::kTilesN][4];

// How a lane reads and writes four neighbouring channels, of which the first `count` exist: any
// types, one by one.
struct Narrow {
  static __device__ void add(float (&values)[4], const void* from, DType type, int64_t index,
                             int count) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < count) values[i] += load_number(from, type, index + i);
    }
  }
  static __device__ void store(void* to, DType type, int64_t index, const float (&values)[4],
                               int count) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < count) store_number(to, type, index + i, values[i]);
    }
  }
  static __device__ void load_gamma(float (&values)[4], const float* gamma, int c, int count) {
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = i < count ? gamma[c + i] : 0.0F;
  }
};

// All four at once, which always exist: of float32, or of either 16-bit type without a branch.
template <bool is_float>
struct Wide {
  static __device__ void add(float (&values)[4], const void* from, DType type, int64_t index,
                             int /*count*/) {
    float residual[4];
    if constexpr (is_float) {
      load_four_of<float>(from, index, residual);
    } else {
      load_four_of_16(from, type == DType::kFloat16, index, residual);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] += residual[i];
  }
  static __device__ void store(void* to, DType type, int64_t index, const float (&values)[4],
                               int /*count*/) {
    if constexpr (is_float) {
      store_four_of<float>(to, index, values);
    } else {
      store_four_of_16(to, type == DType::kFloat16, index, values);
    }
  }
  static __device__ void load_gamma(float (&values)[4], const float* gamma, int c, int /*count*/) {
    load_four_of<float>(gamma, c, values);
  }
};

template <typename V>
class Conv3dMmaEpilogue {
 public:
  static constexpr int kRun = 4;  // neighbouring filters of a lane
  static constexpr int kRuns = V::kTilesN / 2;

  __device__ Conv3dMmaEpilogue(const Conv3dMmaParams& params, const Conv3dMmaTile& tile)
      : p_(params), tile_(tile) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    warp_m_ = warp / V::kWarpsN;
    warp_n_ = warp % V::kWarpsN;
    group_ = lane / 4;
    first_ = first_pixel() * params.c_out;
    first_channel_ = tile.block * V::kFilters + warp_n_ * V::kTilesN * 8 + lane % 4 * kRun;
  }

  // What the sums start with.
  __device__ void start(Conv3dMmaSums<V>& sums) const {
    const float* bias = p_.bias;
    if (bias != nullptr && p_.frame_scale == 2) bias += tile_.part * p_.c_out;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const int c = channel(run) + i;
        const float value = bias != nullptr && c < p_.c_out ? bias[c] : 0.0F;
#pragma unroll
        for (int m = 0; m < V::kTilesM; ++m) {
          sum(sums, m, 0, run, i) = value;
          sum(sums, m, 1, run, i) = value;
        }
      }
    }
  }

  // `squares`: shared memory for a float for each pixel of the tile and column of warps.
  __device__ void finish(Conv3dMmaSums<V>& sums, float* squares) const {
    if (p_.wide) {
      finish_as<Wide<kIsFloat>>(sums, squares);
    } else {
      finish_as<Narrow>(sums, squares);
    }
  }

 private:
  static constexpr bool kIsFloat = std::is_same_v<typename V::Operand, float>;

  // Unrolled, this is the whole of what follows the sums: short code matters, or fetching it takes
  // longer than the products.
  template <typename Access>
  __device__ __forceinline__ void finish_as(Conv3dMmaSums<V>& sums, float* squares) const {
#pragma unroll
    for (int m = 0; m < V::kTilesM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float square = finish_raw<Access>(sums, m, half, output_offset(m, half));
        if (p_.gamma != nullptr) keep_square(squares, m, half, square);
      }
    }
    if (p_.gamma == nullptr) return;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < V::kTilesM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        store_activated<Access>(sums, m, half, output_offset(m, half), scale_of(squares, m, half));
      }
    }
  }

  __device__ int tile_pixel(int m, int half) const {
    return (warp_m_ * V::kTilesM + m) * 16 + half * 8 + group_;
  }

  // Of the tile's first pixel in y and activated.
  __device__ int64_t first_pixel() const {
    const bool phases = p_.space_scale == 2;
    const int64_t frame = tile_.frame * p_.frame_scale + (p_.frame_scale == 2 ? tile_.part : 0);
    const int64_t row = tile_.y * p_.space_scale + (phases ? tile_.part / 2 : 0);
    const int64_t column = tile_.x * p_.space_scale + (phases ? tile_.part % 2 : 0);
    return frame * p_.out_frame_pixels + row * p_.out_width + column;
  }

  // From first_pixel(), in elements; negative: outside.
  __device__ int output_offset(int m, int half) const {
    const int row = tile_pixel(m, half) / 16;
    const int column = tile_pixel(m, half) % 16;
    const int y = tile_.y + row;
    const int x = tile_.x + column;
    if (y >= p_.grid_height || x >= p_.grid_width || y * p_.grid_width + x >= p_.grid_pixels) {
      return -1;
    }
    return (row * p_.out_width + column) * p_.space_scale * p_.c_out;
  }

  __device__ int channel(int run) const { return first_channel_ + run * 16; }

  // A lane's neighbouring sums: two of each of two matrix products.
  static __device__ float& sum(Conv3dMmaSums<V>& sums, int m, int half, int run, int i) {
    return sums[m][run * 2 + i / 2][half * 2 + i % 2];
  }

  // Adds the residual, writes y, and returns this lane's part of the sum of squares.
  template <typename Access>
  __device__ __forceinline__ float finish_raw(Conv3dMmaSums<V>& sums, int m, int half,
                                              int offset) const {
    float square = 0.0F;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int c = channel(run);
      const int count = offset >= 0 ? p_.c_out - c : 0;
      const int64_t index = first_ + (offset + c);
      float values[kRun];
#pragma unroll
      for (int i = 0; i < kRun; ++i) values[i] = sum(sums, m, half, run, i);
      if (p_.residual != nullptr && count > 0) {
        Access::add(values, p_.residual, p_.residual_type, index, count);
      }
      if (p_.y != nullptr && count > 0) Access::store(p_.y, p_.y_type, index, values, count);
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        square += values[i] * values[i];
        sum(sums, m, half, run, i) = values[i];
      }
    }
    return square;
  }

  // Over the four lanes that share a pixel; every order of the two steps gives the same bits.
  __device__ void keep_square(float* squares, int m, int half, float square) const {
    square += __shfl_xor_sync(0xffffffffU, square, 1);
    square += __shfl_xor_sync(0xffffffffU, square, 2);
    squares[tile_pixel(m, half) * V::kWarpsN + warp_n_] = square;
  }

  __device__ float scale_of(const float* squares, int m, int half) const {
    float sum = 0.0F;
#pragma unroll
    for (int warp = 0; warp < V::kWarpsN; ++warp) {
      sum += squares[tile_pixel(m, half) * V::kWarpsN + warp];
    }
    return p_.root_channels / fmaxf(sqrtf(sum), 1e-12F);
  }

  template <typename Access>
  __device__ __forceinline__ void store_activated(Conv3dMmaSums<V>& sums, int m, int half,
                                                  int offset, float scale) const {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int c = channel(run);
      const int count = offset >= 0 ? p_.c_out - c : 0;
      if (count <= 0) continue;
      float values[kRun];
      Access::load_gamma(values, p_.gamma, c, count);
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        values[i] *= sum(sums, m, half, run, i) * scale;
        if (p_.silu) values[i] = kIsFloat ? silu(values[i]) : silu_16(values[i]);
      }
      Access::store(p_.activated, p_.activated_type, first_ + (offset + c), values, count);
    }
  }

  const Conv3dMmaParams& p_;
  const Conv3dMmaTile& tile_;
  int warp_m_;
  int warp_n_;
  int group_;
  int first_channel_;
  int64_t first_;  // element of y and activated that is the tile's
};

}  // namespace zoetrope::cuda
