// SPDX-License-Identifier: Apache-2.0
// conv3d_sm90's epilogue, in registers: residual, bias, raw result, RMS norm, SiLU. Four lanes hold
// a pixel's filters, eight neighbours each of every 32, so every access is of 16 bytes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/kernels/conv3d_sm90_products.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared.cuh"

namespace zoetrope::cuda::sm90 {

// Each time anew: kept in registers, they would not fit.
__device__ inline void load_eight(float (&v)[8], uint32_t address) {
  const uint4 a = ptx::load_shared_volatile(address);
  const uint4 b = ptx::load_shared_volatile(address + 16);
  const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = __uint_as_float(words[i]);
}

// Eight neighbours, without a branch.
template <typename Type>
__device__ inline void store_if(bool wanted, void* to, const float (&v)[8]) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n}" ::
          "l"(to),
      "r"(ptx::pack_pair(v[0], v[1], Type())), "r"(ptx::pack_pair(v[2], v[3], Type())),
      "r"(ptx::pack_pair(v[4], v[5], Type())), "r"(ptx::pack_pair(v[6], v[7], Type())),
      "r"(static_cast<int>(wanted))
      : "memory");
}

// v / (1 + exp(-v)) of v = 2 half. The tangent's relative error is under 2^-11, so the result's is
// under 2^-12 where v is positive.
__device__ inline float silu_of_twice(float half) {
  return fmaf(half, ptx::tanh_approximate(half), half);
}

template <typename T>
struct Epilogue {
  static constexpr int kGroups = Consumer<T>::kGroups;
  using Sums = typename Consumer<T>::Sums;

  const Consumer<T>& c;
  const Conv3dSm90Params& p;
  uint32_t bias_address;  // of this lane's first filter
  uint32_t gamma_address;
  int64_t first;           // element index of the tile's first pixel and this lane's first filter
  int offset[T::kBlocks];  // of this lane's upper pixel of each block from there
  int row;                 // from there to the lower one
  uint32_t inside = 0;     // bit 2 b + h: that pixel exists

  __device__ Epilogue(const Consumer<T>& consumer, const Origin& o)
      : c(consumer),
        p(consumer.p),
        bias_address(
            ptx::shared_address(&c.tail.bias[p.frame_scale == 2 ? o.part : 0][c.lane % 4 * 8])),
        gamma_address(ptx::shared_address(c.tail.gamma + c.lane % 4 * 8)) {
    const int scale = p.space_scale;
    const int part_y = scale == 2 ? o.part >> 1 : 0;
    const int part_x = scale == 2 ? o.part & 1 : 0;
    const int64_t t = o.t * p.frame_scale + (p.frame_scale == 2 ? o.part : 0);
    const int64_t first_row = (t * p.height + o.y) * scale + part_y;
    first = (first_row * p.width * scale + o.x * scale + part_x) * p.c_out +
            c.place.split * T::kFilters + c.lane % 4 * 8;
    row = scale * scale * p.width * p.c_out;
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
      const int index = c.warpgroup * T::kBlocks + b;
      const int x = index % p.blocks_x * kBlockSide + c.lane / 4;
      const int y = index / p.blocks_x * kBlockSide + c.warp * 2;
      offset[b] = y * row + x * scale * p.c_out;
      if (o.x + x >= p.width) continue;
      if (o.y + y < p.height) inside |= 1 << (2 * b);
      if (o.y + y + 1 < p.height) inside |= 2 << (2 * b);
    }
  }

  // Adds the bias, stores the raw result unless Raw is void, and gives the sum of squares of this
  // lane's part of each pixel.
  template <typename Raw>
  __device__ __forceinline__ void finish_raw(Sums& sums, float (&squares)[T::kBlocks][2]) const {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int64_t from = first_again();
      float bias[8];
      load_eight(bias, bias_address + g * kGroup * 4);
#pragma unroll
      for (int i = 0; i < T::kBlocks * 2; ++i) {
        const int b = i / 2;
        const int h = i % 2;
        if (g == 0) squares[b][h] = 0.0f;
        float v[8];
        add_bias(sums[b], h, g, bias, v, squares[b][h]);
        if constexpr (!std::is_void_v<Raw>) {
          store_if<Raw>(exists(b, h),
                        static_cast<uint16_t*>(p.y) + from + offset[b] + h * row + g * kGroup, v);
        }
      }
    }
  }

  __device__ __forceinline__ void add_bias(float (&sums)[T::kFilters / 2], int h, int g,
                                           const float (&bias)[8], float (&v)[8],
                                           float& squares) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& sum = sums[(g * 4 + i / 2) * 4 + h * 2 + i % 2];
      sum += bias[i];
      squares = fmaf(sum, sum, squares);
      v[i] = sum;
    }
  }

  __device__ __forceinline__ bool exists(int b, int h) const {
    return (inside >> (2 * b + h) & 1) != 0;
  }

  // Keeps the compiler from holding every pixel's address in registers between two uses.
  __device__ __forceinline__ int64_t first_again() const {
    int64_t from = first;
    asm volatile("" : "+l"(from));
    return from;
  }

  // The whole pixel's sum of squares: over the four lanes, then over the cluster's blocks.
  __device__ __forceinline__ void reduce(float (&squares)[T::kBlocks][2],
                                         uint32_t tile_count) const {
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        squares[b][h] += __shfl_xor_sync(~0u, squares[b][h], 1);
        squares[b][h] += __shfl_xor_sync(~0u, squares[b][h], 2);
      }
    }
    if constexpr (T::kSplit == 2) exchange(squares, tile_count);
  }

  __device__ __forceinline__ void exchange(float (&squares)[T::kBlocks][2],
                                           uint32_t tile_count) const {
    Exchange& e = c.tail.exchange;
    const uint32_t slot = tile_count & 1;
    const uint32_t barrier = ptx::shared_address(&e.arrived[slot][c.warpgroup]);
    if (c.warp == 0 && c.lane == 0) {
      ptx::mbarrier_arrive_expect(barrier, T::kBlocks * kBlockSide * kBlockSide * 4);
    }
    const uint32_t peer = ptx::cluster_rank() ^ 1;
    const uint32_t peer_barrier = ptx::address_in_block(barrier, peer);
    const int row = c.warp * 16 + c.lane / 4;
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float* at = &e.squares[slot][c.warpgroup][b * 64 + row + 8 * h];
        if (c.lane % 4 != 0) continue;
        ptx::store_in_block(ptx::address_in_block(ptx::shared_address(at), peer), squares[b][h],
                            peer_barrier);
      }
    }
    ptx::mbarrier_wait(barrier, tile_count >> 1 & 1);
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        squares[b][h] += e.squares[slot][c.warpgroup][b * 64 + row + 8 * h];
    }
  }

  // `squares`: of whole pixels. Both pixels of a block at once: their chains overlap.
  template <typename Activated, bool kSilu>
  __device__ __forceinline__ void finish_activated(const Sums& sums,
                                                   const float (&squares)[T::kBlocks][2]) const {
    const int64_t from = first_again();
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
      float scale[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        scale[h] = p.root_channels * rsqrtf(fmaxf(squares[b][h], 1e-24f));
      }
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        float v[2][8];
        activate<kSilu>(sums[b], g, scale, v);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          store_if<Activated>(
              exists(b, h),
              static_cast<uint16_t*>(p.activated) + from + offset[b] + h * row + g * kGroup, v[h]);
        }
      }
    }
  }

  template <bool kSilu>
  __device__ __forceinline__ void activate(const float (&sums)[T::kFilters / 2], int g,
                                           const float (&scale)[2], float (&v)[2][8]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint4 words = ptx::load_shared_volatile(gamma_address + g * kGroup * 4 + half * 16);
      const uint32_t gamma[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int h = i / 4;
        const int j = half * 4 + i % 4;
        const float sum = sums[(g * 4 + j / 2) * 4 + h * 2 + j % 2];
        v[h][j] = sum * (scale[h] * __uint_as_float(gamma[i % 4]));
        if constexpr (kSilu) v[h][j] = silu_of_twice(v[h][j]);
      }
    }
  }
};

// Of up to 8 filters, of which a lane holds two neighbours for each of its pixels.
template <typename T>
__device__ __forceinline__ void store_few(const Consumer<T>& c, const Origin& o,
                                          const typename Consumer<T>::Sums& sums) {
  const Conv3dSm90Params& p = c.p;
  const int filter = c.lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::kBlocks * 4; ++i) {
    const int b = i / 4;
    const int index = c.warpgroup * T::kBlocks + b;
    const int x = o.x + index % p.blocks_x * kBlockSide + c.lane / 4;
    const int y = o.y + index / p.blocks_x * kBlockSide + c.warp * 2 + i % 4 / 2;
    if (x >= p.width || y >= p.height || filter + i % 2 >= p.c_out) continue;
    const float sum = sums[b][i % 4] + c.tail.bias[0][filter + i % 2];
    const int64_t at =
        ((static_cast<int64_t>(o.t) * p.height + y) * p.width + x) * p.c_out + filter + i % 2;
    if (p.raw_type == Element::kFloat32) {
      static_cast<float*>(p.y)[at] = sum;
    } else if (p.raw_type == Element::kFloat16) {
      static_cast<__half*>(p.y)[at] = __float2half_rn(sum);
    } else {
      static_cast<__nv_bfloat16*>(p.y)[at] = __float2bfloat16_rn(sum);
    }
  }
}

template <typename Activated, typename T>
__device__ __forceinline__ void finish_activated(const Epilogue<T>& epilogue,
                                                 const typename Epilogue<T>::Sums& sums,
                                                 const float (&squares)[T::kBlocks][2]) {
  if (epilogue.p.silu) {
    epilogue.template finish_activated<Activated, true>(sums, squares);
  } else {
    epilogue.template finish_activated<Activated, false>(sums, squares);
  }
}

// `count`: tiles that this block finished before.
template <typename T>
__device__ __forceinline__ void finish(const Epilogue<T>& epilogue,
                                       typename Epilogue<T>::Sums& sums, uint32_t count) {
  const Conv3dSm90Params& p = epilogue.p;
  float squares[T::kBlocks][2];
  if (p.y == nullptr) {
    epilogue.template finish_raw<void>(sums, squares);
  } else if (p.raw_type == Element::kFloat16) {
    epilogue.template finish_raw<__half>(sums, squares);
  } else {
    epilogue.template finish_raw<__nv_bfloat16>(sums, squares);
  }
  if (p.activated == nullptr) return;
  epilogue.reduce(squares, count);
  if (p.activated_type == Element::kFloat16) {
    finish_activated<__half>(epilogue, sums, squares);
  } else {
    finish_activated<__nv_bfloat16>(epilogue, sums, squares);
  }
}

}  // namespace zoetrope::cuda::sm90
