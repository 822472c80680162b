// SPDX-License-Identifier: Apache-2.0
// Conversions and functions that are one instruction each (sm_80).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace zoetrope::cuda::ptx {

// Two numbers of 16 bits in a word, `low` in its low half.
__device__ inline uint32_t pack_pair(float low, float high, __half /*type*/) {
  uint32_t bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
__device__ inline uint32_t pack_pair(float low, float high, __nv_bfloat16 /*type*/) {
  uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// 2^x; subnormal numbers count as zero.
__device__ inline float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The relative error is under 2^-11.
__device__ inline float tanh_approximate(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace zoetrope::cuda::ptx
