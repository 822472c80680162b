// SPDX-License-Identifier: Apache-2.0
// The bulk copy engine (sm_90): global to shared memory, completing on an mbarrier.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace zoetrope::cuda::ptx {

// Where a box begins in a tensor of five dimensions, innermost first; may lie outside.
struct Coordinates {
  int32_t c, x, parity, y, t;
};

// What lies outside the tensor arrives as zero and counts as copied bytes.
__device__ inline void copy_box(uint32_t destination, const CUtensorMap* map, const Coordinates& at,
                                uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(destination),
      "l"(map), "r"(at.c), "r"(at.x), "r"(at.parity), "r"(at.y), "r"(at.t), "r"(barrier)
      : "memory");
}

// The same for each block of the cluster whose bit is in `blocks`, at the same addresses there.
__device__ inline void copy_box_to(uint32_t blocks, uint32_t destination, const CUtensorMap* map,
                                   const Coordinates& at, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(destination),
      "l"(map), "r"(at.c), "r"(at.x), "r"(at.parity), "r"(at.y), "r"(at.t), "r"(barrier),
      "h"(static_cast<uint16_t>(blocks))
      : "memory");
}

// 16-byte aligned, a multiple of 16 bytes.
__device__ inline void copy_bytes(uint32_t destination, const void* source, uint32_t bytes,
                                  uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ inline void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

}  // namespace zoetrope::cuda::ptx
