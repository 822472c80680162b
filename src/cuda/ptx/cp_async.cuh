// SPDX-License-Identifier: Apache-2.0
// Copies from device to shared memory that a thread does not wait for, sm_80 and later.
#pragma once

#include <cstdint>

namespace zoetrope::cuda {

// 16 bytes, both ends aligned; zeros instead if `exists` is false.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(exists ? 16 : 0)
               : "memory");
}

// Ends the group of this thread's copies so far.
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `count` groups of this thread are under way.
template <int count>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory");
}

}  // namespace zoetrope::cuda
