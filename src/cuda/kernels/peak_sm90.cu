// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/peak.h"
#include "cuda/ptx/shared.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int kWarpgroups = 2;
constexpr int kThreads = kWarpgroups * 128;
constexpr int kRows = 64;  // of a warpgroup's product
constexpr int kColumns = 192;
constexpr int kDepth = 64;  // of both operands in shared memory, rows of 128 bytes
constexpr int kRounds = 2048;
constexpr int kBytes = (kWarpgroups * kRows + kColumns) * kDepth * 2;

template <typename Operand>
__global__ void __launch_bounds__(kThreads, 1) multiply_kernel(float* sink) {
  extern __shared__ __align__(1024) std::byte shared[];
  // Bits of small numbers of either type, no two rows alike.
  for (int i = static_cast<int>(threadIdx.x); i < kBytes / 4; i += kThreads) {
    reinterpret_cast<uint32_t*>(shared)[i] = (i * 2654435761U & 0x83ff83ffU) | 0x20002000U;
  }
  ptx::shared_stores_fence();
  __syncthreads();
  const int warpgroup = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / 128, 0);
  const uint32_t base = ptx::shared_address(shared);
  const ptx::Matrix a = ptx::matrix<128>(base + warpgroup * kRows * 128, 1024);
  const ptx::Matrix b = ptx::matrix<128>(base + kWarpgroups * kRows * 128, 1024);
  float sums[kColumns / 2] = {};
  for (int round = 0; round < kRounds; ++round) {
    ptx::products_fence();
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) ptx::multiply<Operand>(sums, a + 2 * k, b + 2 * k, 1);
    ptx::products_commit();
    ptx::products_wait<1>();
  }
  ptx::products_wait<0>();
  float total = 0.0F;
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) total += sums[i];
  if (total == -1.0F) *sink = total;  // never, but the compiler cannot know
}

}  // namespace

cudaError_t multiply_in_warpgroups(DType operands, int blocks, float* sink, double* flops,
                                   cudaStream_t stream) {
  *flops = 2.0 * kRows * kColumns * kDepth * kRounds * kWarpgroups * blocks;
  const auto kernel =
      operands == DType::kFloat16 ? multiply_kernel<__half> : multiply_kernel<__nv_bfloat16>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(sink);
  return cudaGetLastError();
}

}  // namespace zoetrope::cuda
