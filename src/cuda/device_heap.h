// SPDX-License-Identifier: Apache-2.0
// Where a model's memory on a device comes from, and how much of it there is.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/queue.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cuda {

// Of the caller's allocator, or of a pool of its own in the order of a stream, so that freeing it
// waits for nothing else on the device. Safe from several threads.
class DeviceHeap {
 public:
  DeviceHeap(int device, Allocator allocator);
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // Ready for work of `stream`, in whose order it is freed. Throws kOutOfMemory.
  std::unique_ptr<Memory> allocate(int64_t bytes, cudaStream_t stream);

  // Bytes that could be allocated; with the caller's allocator, which may keep some, all there are.
  int64_t free_bytes() const;
  int64_t capacity() const;
  MemoryUse use() const;

  // Gives memory that was freed back to the driver.
  void trim() const;

 private:
  class Block;

  void* take(size_t bytes, cudaStream_t stream);
  void give_back(void* data, size_t bytes, cudaStream_t stream);
  [[noreturn]] void refuse(size_t bytes) const;

  int device_;
  Allocator allocator_;
  cudaMemPool_t pool_ = nullptr;
  std::atomic<int64_t> allocated_ = 0;
  std::atomic<int64_t> most_allocated_ = 0;
};

}  // namespace zoetrope::cuda
