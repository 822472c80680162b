// SPDX-License-Identifier: Apache-2.0
// What conv3d_mma does with its sums: bias, residual, norm, SiLU, and where results go.
#pragma once

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

template <typename V>
class Conv3dMmaEpilogue {
 public:
  static constexpr int kRun = V::kTilesN % 2 == 0 ? 4 : 2;  // neighbouring filters of a lane
  static constexpr int kRuns = V::kTilesN * 2 / kRun;

  __device__ Conv3dMmaEpilogue(const Conv3dMmaParams& params, const Conv3dMmaTile& tile)
      : p_(params), tile_(tile) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    warp_m_ = warp / V::kWarpsN;
    warp_n_ = warp % V::kWarpsN;
    group_ = lane / 4;
    first_channel_ = tile.block * V::kFilters + warp_n_ * V::kTilesN * 8 + lane % 4 * kRun;
  }

  // `squares`: shared memory for a float for each pixel of the tile and column of warps.
  __device__ void run(Conv3dMmaSums<V>& sums, float* squares) const {
#pragma unroll
    for (int m = 0; m < V::kTilesM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t pixel = output_pixel(m, half);
        const float square = finish_raw(sums, m, half, pixel);
        if (p_.gamma != nullptr) keep_square(squares, m, half, square);
      }
    }
    if (p_.gamma == nullptr) return;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < V::kTilesM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t pixel = output_pixel(m, half);
        if (pixel >= 0) store_activated(sums, m, half, pixel, scale_of(squares, m, half));
      }
    }
  }

 private:
  __device__ int tile_pixel(int m, int half) const {
    return (warp_m_ * V::kTilesM + m) * 16 + half * 8 + group_;
  }

  // Of y and activated; negative: outside.
  __device__ int64_t output_pixel(int m, int half) const {
    const int y = tile_.y + tile_pixel(m, half) / 16;
    const int x = tile_.x + tile_pixel(m, half) % 16;
    if (y >= p_.grid_height || x >= p_.grid_width || y * p_.grid_width + x >= p_.grid_pixels) {
      return -1;
    }
    const bool phases = p_.space_scale == 2;
    const int frame = tile_.frame * p_.frame_scale + (p_.frame_scale == 2 ? tile_.part : 0);
    const int row = y * p_.space_scale + (phases ? tile_.part / 2 : 0);
    const int column = x * p_.space_scale + (phases ? tile_.part % 2 : 0);
    return frame * p_.out_frame_pixels + static_cast<int64_t>(row) * p_.out_width + column;
  }

  __device__ int channel(int run) const { return first_channel_ + run * kRun * 4; }

  // A lane's neighbouring sums: two of each of two matrix products, or of one.
  static __device__ float& sum(Conv3dMmaSums<V>& sums, int m, int half, int run, int i) {
    return sums[m][run * (kRun / 2) + i / 2][half * 2 + i % 2];
  }

  // Adds bias and residual, writes y, and returns this lane's part of the sum of squares.
  __device__ float finish_raw(Conv3dMmaSums<V>& sums, int m, int half, int64_t pixel) const {
    float square = 0.0F;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int c = channel(run);
      float values[4] = {};
#pragma unroll
      for (int i = 0; i < kRun; ++i) values[i] = sum(sums, m, half, run, i);
      if (pixel >= 0 && c < p_.c_out) {
        add_bias(values, c);
        const int64_t index = pixel * p_.c_out + c;
        if (p_.residual != nullptr) add_residual(values, index, c);
        if (p_.y != nullptr) store(p_.y, p_.y_type, index, c, values);
      }
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        square += values[i] * values[i];
        sum(sums, m, half, run, i) = values[i];
      }
    }
    return square;
  }

  __device__ void add_bias(float (&values)[4], int c) const {
    if (p_.bias == nullptr) return;
    const float* bias = p_.bias + (p_.frame_scale == 2 ? tile_.part * p_.c_out : 0);
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      if (c + i < p_.c_out) values[i] += bias[c + i];
    }
  }

  __device__ void add_residual(float (&values)[4], int64_t index, int c) const {
    float residual[4] = {};
    if (kRun == 4 && p_.four_at_once) {
      load_four(p_.residual, p_.residual_type, index, residual);
    } else {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        if (c + i < p_.c_out) residual[i] = load_number(p_.residual, p_.residual_type, index + i);
      }
    }
#pragma unroll
    for (int i = 0; i < kRun; ++i) values[i] += residual[i];
  }

  __device__ void store(void* to, DType type, int64_t index, int c,
                        const float (&values)[4]) const {
    if (kRun == 4 && p_.four_at_once) return store_four(to, type, index, values);
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      if (c + i < p_.c_out) store_number(to, type, index + i, values[i]);
    }
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

  __device__ void store_activated(Conv3dMmaSums<V>& sums, int m, int half, int64_t pixel,
                                  float scale) const {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int c = channel(run);
      if (c >= p_.c_out) continue;
      float values[4] = {};
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const float gamma = c + i < p_.c_out ? p_.gamma[c + i] : 0.0F;
        values[i] = sum(sums, m, half, run, i) * scale * gamma;
        if (p_.silu) values[i] = silu(values[i]);
      }
      store(p_.activated, p_.activated_type, pixel * p_.c_out + c, c, values);
    }
  }

  const Conv3dMmaParams& p_;
  const Conv3dMmaTile& tile_;
  int warp_m_;
  int warp_n_;
  int group_;
  int first_channel_;
};

}  // namespace zoetrope::cuda
