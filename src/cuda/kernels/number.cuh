// SPDX-License-Identifier: Apache-2.0
// Numbers in memory as floats: any of float32, float16 and bfloat16, one or four at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

// To nearest, halves to even.
template <typename T>
__device__ __forceinline__ T from_float(float value) {
  return static_cast<T>(value);
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

__device__ __forceinline__ float load_number(const void* data, DType type, int64_t index) {
  if (type == DType::kFloat32) return static_cast<const float*>(data)[index];
  if (type == DType::kFloat16) return to_float(static_cast<const __half*>(data)[index]);
  return to_float(static_cast<const __nv_bfloat16*>(data)[index]);
}

__device__ __forceinline__ void store_number(void* data, DType type, int64_t index, float value) {
  if (type == DType::kFloat32) {
    static_cast<float*>(data)[index] = value;
  } else if (type == DType::kFloat16) {
    static_cast<__half*>(data)[index] = __float2half_rn(value);
  } else {
    static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value);
  }
}

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

template <typename T>
__device__ __forceinline__ void load_four_of(const void* data, int64_t index, float (&values)[4]) {
  const auto four = *reinterpret_cast<const Four<T>*>(static_cast<const T*>(data) + index);
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = to_float(four.values[i]);
}

template <typename T>
__device__ __forceinline__ void store_four_of(void* data, int64_t index, const float (&values)[4]) {
  Four<T> four;
#pragma unroll
  for (int i = 0; i < 4; ++i) four.values[i] = from_float<T>(values[i]);
  *reinterpret_cast<Four<T>*>(static_cast<T*>(data) + index) = four;
}

// Of either 16-bit type, chosen without a branch. `index` is a multiple of 4, and data aligned to
// four elements.
__device__ __forceinline__ void load_four_of_16(const void* data, bool is_half, int64_t index,
                                                float (&values)[4]) {
  const uint2 words = *reinterpret_cast<const uint2*>(static_cast<const uint16_t*>(data) + index);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t pair = i < 2 ? words.x : words.y;
    const uint32_t bits = i % 2 == 0 ? pair & 0xffffU : pair >> 16;
    const float half = __half2float(__ushort_as_half(static_cast<uint16_t>(bits)));
    values[i] = is_half ? half : __uint_as_float(bits << 16);
  }
}

__device__ __forceinline__ uint32_t pack_16(bool is_half, float low, float high) {
  const __half2 half = __floats2half2_rn(low, high);
  const __nv_bfloat162 bfloat = __floats2bfloat162_rn(low, high);
  return is_half ? *reinterpret_cast<const uint32_t*>(&half)
                 : *reinterpret_cast<const uint32_t*>(&bfloat);
}

__device__ __forceinline__ void store_four_of_16(void* data, bool is_half, int64_t index,
                                                 const float (&values)[4]) {
  *reinterpret_cast<uint2*>(static_cast<uint16_t*>(data) + index) = {
      pack_16(is_half, values[0], values[1]), pack_16(is_half, values[2], values[3])};
}

// x * sigmoid(x), by the exponential that cannot overflow.
__device__ __forceinline__ float silu(float x) {
  const float e = expf(-fabsf(x));
  return x * ((x < 0.0F ? e : 1.0F) / (1.0F + e));
}

// The same, exact enough for results of 16 bits: within 2^-20 of itself for |x| up to 16.
__device__ __forceinline__ float silu_16(float x) { return __fdividef(x, 1.0F + __expf(-x)); }

}  // namespace zoetrope::cuda
