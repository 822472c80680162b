// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products (sm_90a): 64 rows of A times N columns of B, 16 deep, in swizzled
// shared memory, summed in float registers.
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

// A second operand whose rows of 128 bytes are 64 of its columns at one depth: 16 such rows follow
// each other, and the next 64 columns begin `stride` bytes on.
__device__ inline Matrix matrix_of_columns(uint32_t address, uint32_t stride) {
  constexpr uint32_t kEightRows = 1024;
  return {address >> 4 | (stride >> 4) << 16, kEightRows >> 4 | 1U << 30};
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

// The same of rows in registers and a matrix_of_columns: `a` holds this lane's part of 16 of their
// depth, laid out as sums of 16 columns are.
template <typename Operand, int kSums>
__device__ void multiply_rows(float (&sums)[kSums], const uint32_t (&a)[4], uint64_t b);

// clang-format off
#define ZOETROPE_SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define ZOETROPE_SUMS_16(i) \
  ZOETROPE_SUMS_4(i), ZOETROPE_SUMS_4(i + 4), ZOETROPE_SUMS_4(i + 8), ZOETROPE_SUMS_4(i + 12)
#define ZOETROPE_SUMS_48(i) ZOETROPE_SUMS_16(i), ZOETROPE_SUMS_16(i + 16), ZOETROPE_SUMS_16(i + 32)
#define ZOETROPE_SUMS_96(i) ZOETROPE_SUMS_48(i), ZOETROPE_SUMS_48(i + 48)

#define ZOETROPE_NAMES_4 "%0, %1, %2, %3"
#define ZOETROPE_NAMES_16 \
  ZOETROPE_NAMES_4 ", %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ZOETROPE_NAMES_48 \
  ZOETROPE_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, " \
  "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define ZOETROPE_NAMES_96 \
  ZOETROPE_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, " \
  "%63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"

// `a`, `b`, `p`: the names of the operands after the sums.
#define ZOETROPE_MULTIPLY(Operand, TYPE, SUMS, COLUMNS, a_name, b_name, p_name)                   \
  template <>                                                                                     \
  __device__ inline void multiply<Operand>(float (&sums)[SUMS], uint64_t a, uint64_t b,           \
                                           uint32_t accumulate) {                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_name ", 0;\n"                              \
                 "wgmma.mma_async.sync.aligned.m64n" COLUMNS "k16.f32." TYPE "." TYPE             \
                 " {" ZOETROPE_NAMES_##SUMS "}, " a_name ", " b_name ", p, 1, 1, 0, 0;\n}\n"      \
                 : ZOETROPE_SUMS_##SUMS(0)                                                        \
                 : "l"(a), "l"(b), "r"(accumulate));                                              \
  }
#define ZOETROPE_MULTIPLY_EACH(SUMS, COLUMNS, a_name, b_name, p_name)             \
  ZOETROPE_MULTIPLY(__half, "f16", SUMS, COLUMNS, a_name, b_name, p_name)         \
  ZOETROPE_MULTIPLY(__nv_bfloat16, "bf16", SUMS, COLUMNS, a_name, b_name, p_name)

ZOETROPE_MULTIPLY_EACH(4, "8", "%4", "%5", "%6")
ZOETROPE_MULTIPLY_EACH(16, "32", "%16", "%17", "%18")
ZOETROPE_MULTIPLY_EACH(48, "96", "%48", "%49", "%50")
ZOETROPE_MULTIPLY_EACH(96, "192", "%96", "%97", "%98")

#define ZOETROPE_MULTIPLY_ROWS(Operand, TYPE)                                                    \
  template <>                                                                                    \
  __device__ inline void multiply_rows<Operand>(float (&sums)[96], const uint32_t (&a)[4],       \
                                                uint64_t b) {                                    \
    asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32." TYPE "." TYPE                    \
                 " {" ZOETROPE_NAMES_96 "}, {%96, %97, %98, %99}, %100, 1, 1, 1, 1;\n"           \
                 : ZOETROPE_SUMS_96(0)                                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                          \
  }
ZOETROPE_MULTIPLY_ROWS(__half, "f16")
ZOETROPE_MULTIPLY_ROWS(__nv_bfloat16, "bf16")

#undef ZOETROPE_MULTIPLY_ROWS
#undef ZOETROPE_MULTIPLY_EACH
#undef ZOETROPE_MULTIPLY
#undef ZOETROPE_NAMES_96
#undef ZOETROPE_NAMES_48
#undef ZOETROPE_NAMES_16
#undef ZOETROPE_NAMES_4
#undef ZOETROPE_SUMS_96
#undef ZOETROPE_SUMS_48
#undef ZOETROPE_SUMS_16
#undef ZOETROPE_SUMS_4
// clang-format on

}  // namespace zoetrope::cuda::ptx
