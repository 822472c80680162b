// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products (sm_90a): 64 rows of A times N columns of B, 16 deep, both K-major in
// swizzled shared memory, summed in float registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace zoetrope::cuda::ptx {

// A matrix in shared memory. Its rows are as long as the swizzle's span; 8 rows follow each other,
// and the next 8 begin `stride` bytes on. The pattern is one of address bits, so a matrix may begin
// on any row, and the address (the low half, in units of 16 bytes) be added to.
struct Matrix {
  uint32_t address;
  uint32_t layout;

  __device__ uint64_t operator+(uint32_t sixteens) const {
    return static_cast<uint64_t>(layout) << 32 | (address + sixteens);
  }
};

// kRowBytes = 16: no swizzle, and a product's row is pieces that begin 16 bytes apart, which the
// next rows begin with.
template <int kRowBytes>
__device__ inline Matrix matrix(uint32_t address, uint32_t stride) {
  static_assert(kRowBytes == 16 || kRowBytes == 64 || kRowBytes == 128);
  constexpr uint32_t kSwizzle = kRowBytes == 128 ? 1 : kRowBytes == 64 ? 2 : 0;
  constexpr uint32_t kPieceStride = kRowBytes == 16 ? 1 : 0;
  return {address >> 4 | kPieceStride << 16, stride >> 4 | kSwizzle << 30};
}

// Registers of later products may be written from here on.
__device__ inline void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most kPending committed groups are unfinished.
template <int kPending>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// sums (+)= a * b; N = 2 kSums columns. accumulate = 0: what sums held is ignored.
template <typename Operand, int kSums>
__device__ void multiply(float (&sums)[kSums], uint64_t a, uint64_t b, uint32_t accumulate);

// clang-format off
#define ZOETROPE_SUMS_8(i)                                                                   \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), \
      "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define ZOETROPE_SUMS_48(i)                                                       \
  ZOETROPE_SUMS_8(i), ZOETROPE_SUMS_8(i + 8), ZOETROPE_SUMS_8(i + 16),            \
      ZOETROPE_SUMS_8(i + 24), ZOETROPE_SUMS_8(i + 32), ZOETROPE_SUMS_8(i + 40)

template <>
__device__ inline void multiply<__half>(float (&sums)[48], uint64_t a, uint64_t b, uint32_t accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
      "}, %48, %49, p, 1, 1, 0, 0;\n}\n"
      : ZOETROPE_SUMS_48(0)
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ inline void multiply<__nv_bfloat16>(float (&sums)[48], uint64_t a, uint64_t b, uint32_t accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
      "}, %48, %49, p, 1, 1, 0, 0;\n}\n"
      : ZOETROPE_SUMS_48(0)
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ inline void multiply<__half>(float (&sums)[96], uint64_t a, uint64_t b, uint32_t accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, p, 1, 1, 0, 0;\n}\n"
      : ZOETROPE_SUMS_48(0), ZOETROPE_SUMS_48(48)
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ inline void multiply<__nv_bfloat16>(float (&sums)[96], uint64_t a, uint64_t b, uint32_t accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, p, 1, 1, 0, 0;\n}\n"
      : ZOETROPE_SUMS_48(0), ZOETROPE_SUMS_48(48)
      : "l"(a), "l"(b), "r"(accumulate));
}

#undef ZOETROPE_SUMS_48
#undef ZOETROPE_SUMS_8
// clang-format on

}  // namespace zoetrope::cuda::ptx
