// SPDX-License-Identifier: Apache-2.0
// conv3d_sm90's products: a warpgroup sums one tile in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/kernels/conv3d_sm90_stages.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zoetrope::cuda::sm90 {

__device__ inline float2 unpack(uint32_t bits, __half) {
  return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}

__device__ inline float2 unpack(uint32_t bits, __nv_bfloat16) {
  return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000)};
}

template <typename T>
struct Consumer {
  static constexpr int kGroups = T::kFilters / kGroup;
  using Sums = float[T::kBlocks][T::kFilters / 2];

  const Conv3dSm90Params& p;
  const Stages& s;
  const Place& place;
  Tail<T>& tail;
  int warpgroup;
  int warp;
  int lane;
  uint32_t block_offset[T::kBlocks] = {};  // of each block's first pixel in the box, in bytes
  Ring ring_a = {};
  Ring ring_b = {};
  uint32_t used_a = 0;  // barriers to arrive on once the products before the last are done
  uint32_t used_b = 0;

  __device__ Consumer(const Conv3dSm90Params& params, const Stages& stages, const Place& at,
                      Tail<T>& shared, int thread)
      : p(params),
        s(stages),
        place(at),
        tail(shared),
        warpgroup(__shfl_sync(~0u, thread / kWarpgroup, 0)),
        warp(__shfl_sync(~0u, thread % kWarpgroup / kWarp, 0)),
        lane(thread % kWarp) {
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
      const int index = warpgroup * T::kBlocks + b;
      block_offset[b] =
          (index / p.blocks_x * p.pitch + index % p.blocks_x) * kBlockSide * T::kPixelBytes;
    }
  }

  __device__ uint32_t wait_for_box() const {
    ptx::mbarrier_wait(s.full_a + 8 * ring_a.stage, ring_a.parity);
    return s.a + ring_a.stage * p.stage_a_bytes;
  }

  // Once this warp has read it.
  __device__ void release_box() {
    __syncwarp();
    release_a(s.empty_a + 8 * ring_a.stage);
    ring_a.advance(p.stages_a);
  }

  // Tells each block that fills this stage, on its own barrier at the same address.
  __device__ void release_a(uint32_t barrier) const {
    if (lane >= T::kSplit) return;
    if constexpr (T::kSplit == 1) {
      ptx::mbarrier_arrive(barrier);
    } else {
      ptx::mbarrier_arrive_in_block(barrier, lane);
    }
  }

  __device__ void release_b(uint32_t barrier) const {
    if (lane == 0) ptx::mbarrier_arrive(barrier);
  }

  __device__ __forceinline__ void multiply_tap(Sums& sums, uint32_t a, int offset, uint32_t b,
                                               uint32_t accumulate) const {
    const ptx::Matrix matrix_a = ptx::matrix<T::kPixelBytes>(a, p.pitch * T::kPixelBytes);
    const ptx::Matrix matrix_b = ptx::matrix<T::kRowBytes>(b, kBlockSide * T::kRowBytes);
#pragma unroll
    for (int k = 0; k < T::kSteps; ++k) {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
        ptx::multiply<typename T::Operand>(sums[i],
                                           matrix_a + (offset + block_offset[i] / 16 + 2 * k),
                                           matrix_b + 2 * k, k == 0 ? accumulate : 1);
      }
    }
  }

  // Adds a box of the residual: kChunk of its channels. 16 pieces of 16 bytes of the lane's pixels
  // lie where the copy engine's swizzle put them.
  template <typename Raw>
  __device__ __forceinline__ void add_residual(Sums& sums, uint32_t address, int box) const {
    constexpr int kPieces = T::kPixelBytes / 16;
#pragma unroll
    for (int b = 0; b < T::kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const uint32_t row =
            address + block_offset[b] + ((warp * 2 + h) * p.pitch + lane / 4) * T::kPixelBytes;
        const uint32_t swizzle = (row >> 7) % kPieces * 16;
#pragma unroll
        for (int half = 0; half < T::kChunk / kGroup; ++half) {
          const uint4 words =
              ptx::load_shared_volatile(row + ((half * 64 + lane % 4 * 16) ^ swizzle));
          add_group<Raw>(sums[b], h, box, half, words);
        }
      }
    }
  }

  template <typename Raw>
  __device__ __forceinline__ void add_group(float (&sums)[T::kFilters / 2], int h, int box,
                                            int half, const uint4& words) const {
    const uint32_t w[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (g != box * (T::kChunk / kGroup) + half) continue;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 v = unpack(w[i], Raw());
        sums[(g * 4 + i) * 4 + h * 2] += v.x;
        sums[(g * 4 + i) * 4 + h * 2 + 1] += v.y;
      }
    }
  }

  // `box`: of kResidualBoxes.
  __device__ __forceinline__ void add_residual_box(Sums& sums, int box) {
    const uint32_t address = wait_for_box();
#pragma unroll
    for (int i = 0; i < T::kResidualBoxes; ++i) {
      if (i != box) continue;
      if (p.raw_type == Element::kFloat16) {
        add_residual<__half>(sums, address, i);
      } else {
        add_residual<__nv_bfloat16>(sums, address, i);
      }
    }
    release_box();
  }

  // One stage of weights: taps [tap, stop), counted from `first`, of a box at `a`. Stages are given
  // back once the products after theirs are under way.
  __device__ __forceinline__ void multiply_stage(Sums& sums, uint32_t a, int tap, int stop,
                                                 int first, uint32_t& accumulate) {
    ptx::mbarrier_wait(s.full_b + 8 * ring_b.stage, ring_b.parity);
    uint32_t b = s.b + ring_b.stage * p.taps_per_stage * T::kTapBytes;
    for (; tap < stop; ++tap, b += T::kTapBytes) {
      ptx::products_fence();
      multiply_tap(sums, a, p.tap_offset[first + tap], b, accumulate);
      ptx::products_commit();
      ptx::products_wait<1>();
      release_used();
      accumulate = 1;
    }
    used_b = s.empty_b + 8 * ring_b.stage;
    ring_b.advance(p.stages_b);
  }

  __device__ __forceinline__ void multiply_box(Sums& sums, int taps, int first,
                                               uint32_t& accumulate) {
    const uint32_t a = wait_for_box();
    for (int tap = 0; tap < taps; tap += p.taps_per_stage) {
      multiply_stage(sums, a, tap, min(taps, tap + p.taps_per_stage), first, accumulate);
    }
    used_a = s.empty_a + 8 * ring_a.stage;
    ring_a.advance(p.stages_a);
  }

  // Sums of one tile, in the order temporal tap, chunk, plane, spatial tap, channel, then the
  // shortcut's channels; the residual's boxes come in between.
  __device__ __forceinline__ void multiply(Sums& sums) {
    const int convs = conv_boxes(p);
    const int boxes = convs + p.shortcut_chunks;
    uint32_t accumulate = 0;
    int plane = 0;
    int residuals = 0;
    for (int box = 0; box < boxes; ++box) {
      const bool shortcut = box >= convs;
      const Conv3dSm90Plane& of = p.plane[plane];
      multiply_box(sums, shortcut ? 1 : of.taps, shortcut ? kMaxSpatialTaps : of.first_tap,
                   accumulate);
      if (++plane == p.planes) plane = 0;
      const int due = residual_due<T>(p, box + 1, boxes);
      if (residuals == due) continue;
      finish_products();
      for (; residuals < due; ++residuals) add_residual_box(sums, residuals);
    }
    finish_products();
  }

  __device__ __forceinline__ void finish_products() {
    ptx::products_wait<0>();
    release_used();
  }

  __device__ __forceinline__ void release_used() {
    if (used_b != 0) release_b(used_b);
    if (used_a != 0) release_a(used_a);
    used_b = 0;
    used_a = 0;
  }
};

}  // namespace zoetrope::cuda::sm90
