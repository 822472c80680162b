// SPDX-License-Identifier: Apache-2.0
// Barriers of a block that are told apart by a number from 1 on; __syncthreads() is number 0.
#pragma once

namespace zoetrope::cuda::ptx {

// Until kThreads have come, those that only arrive among them.
template <int kThreads>
__device__ inline void named_barrier_sync(int number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

template <int kThreads>
__device__ inline void named_barrier_arrive(int number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

}  // namespace zoetrope::cuda::ptx
