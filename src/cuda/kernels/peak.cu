// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/peak.h"

#include "cuda/ptx/mma.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRounds = 4096;
constexpr int kSums = 8;  // independent: they hide a product's latency

__device__ void multiply(float (&sum)[4], const uint32_t (&a)[4], float /*operand*/) {
  for (int product = 0; product < 3; ++product) mma_tf32(sum, a, a[0], a[1]);
}
template <typename T>
__device__ void multiply(float (&sum)[4], const uint32_t (&a)[4], T operand) {
  mma(sum, a, a[0], a[1], operand);
}

template <typename T>
__global__ void multiply_kernel(float* sink) {
  float sums[kSums][4] = {};
  const uint32_t a[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) multiply(sums[i], a, T{});
  }
  float total = 0.0F;
#pragma unroll
  for (int i = 0; i < kSums; ++i) total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
  if (total == -1.0F) *sink = total;  // never, but the compiler cannot know
}

}  // namespace

cudaError_t multiply_in_registers(DType operands, int blocks, float* sink, double* flops,
                                  cudaStream_t stream) {
  const bool floats = operands == DType::kFloat32;
  constexpr double kWarps = kThreads / 32;
  *flops = 2.0 * 16 * 8 * (floats ? 8 : 16) * kSums * kRounds * kWarps * blocks;
  const auto grid = static_cast<unsigned>(blocks);
  if (floats) {
    multiply_kernel<float><<<grid, kThreads, 0, stream>>>(sink);
  } else if (operands == DType::kFloat16) {
    multiply_kernel<__half><<<grid, kThreads, 0, stream>>>(sink);
  } else {
    multiply_kernel<__nv_bfloat16><<<grid, kThreads, 0, stream>>>(sink);
  }
  return cudaGetLastError();
}

}  // namespace zoetrope::cuda
