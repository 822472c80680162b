// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_heap.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "cuda/cuda_error.h"
#include "zoetrope/error.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kAlignment = 256;
// What a pool and the driver take beside what is asked for: a Stream's few large pieces come in
// whole pages, which have tables.
constexpr int64_t kOverhead = int64_t{64} << 20;

struct DriverCount {
  size_t free = 0;
  size_t total = 0;
};

DriverCount driver_count(int device) {
  const DeviceScope scope(device);
  DriverCount count;
  check(cudaMemGetInfo(&count.free, &count.total), "cuda:" + std::to_string(device));
  return count;
}

}  // namespace

class DeviceHeap::Block : public Memory {
 public:
  Block(DeviceHeap& heap, int64_t bytes, cudaStream_t stream)
      : heap_(heap),
        stream_(stream),
        allocated_(static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), kAlignment))),
        size_(bytes),
        data_(static_cast<std::byte*>(heap.take(allocated_, stream))) {}
  ~Block() override {
    try {
      const DeviceScope scope(heap_.device_);  // whose default stream `stream_` may be
      heap_.give_back(data_, allocated_, stream_);
    } catch (const Error&) {  // the device is lost, and its memory with it
    }
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const override { return data_; }
  int64_t size() const override { return size_; }

 private:
  DeviceHeap& heap_;
  cudaStream_t stream_;
  size_t allocated_;
  int64_t size_;
  std::byte* data_;
};

DeviceHeap::DeviceHeap(int device, Allocator allocator)
    : device_(device), allocator_(std::move(allocator)) {
  if (allocator_.allocate) return;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  check(cudaMemPoolCreate(&pool_, &properties), "cuda:" + std::to_string(device));
}

DeviceHeap::~DeviceHeap() {
  if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
}

std::unique_ptr<Memory> DeviceHeap::allocate(int64_t bytes, cudaStream_t stream) {
  return std::make_unique<Block>(*this, bytes, stream);
}

int64_t DeviceHeap::free_bytes() const {
  const DriverCount count = driver_count(device_);
  if (allocator_.allocate) return static_cast<int64_t>(count.total);
  return std::max<int64_t>(0, static_cast<int64_t>(count.free) - kOverhead);
}

int64_t DeviceHeap::capacity() const { return static_cast<int64_t>(driver_count(device_).total); }

MemoryUse DeviceHeap::use() const {
  const DriverCount count = driver_count(device_);
  return {.allocated = allocated_,
          .most_allocated = most_allocated_,
          .taken = static_cast<int64_t>(count.total - count.free)};
}

void DeviceHeap::trim() const {
  if (pool_ != nullptr) check(cudaMemPoolTrimTo(pool_, 0), "cuda:" + std::to_string(device_));
}

void* DeviceHeap::take(size_t bytes, cudaStream_t stream) {
  void* data = nullptr;
  if (allocator_.allocate) {
    data = allocator_.allocate(bytes, kAlignment);
  } else if (cudaMallocFromPoolAsync(&data, bytes, pool_, stream) != cudaSuccess) {
    (void)cudaGetLastError();
    data = nullptr;
  }
  if (data == nullptr) refuse(bytes);
  const int64_t now = allocated_ += static_cast<int64_t>(bytes);
  int64_t most = most_allocated_;
  while (most < now && !most_allocated_.compare_exchange_weak(most, now)) {
  }
  return data;
}

void DeviceHeap::give_back(void* data, size_t bytes, cudaStream_t stream) {
  allocated_ -= static_cast<int64_t>(bytes);
  if (allocator_.allocate) {
    (void)cudaStreamSynchronize(stream);
    allocator_.deallocate(data, bytes);
  } else {
    (void)cudaFreeAsync(data, stream);
  }
}

void DeviceHeap::refuse(size_t bytes) const {
  const DriverCount count = driver_count(device_);
  fail(ErrorCode::kOutOfMemory,
       "cuda:{}: {} MiB more were needed, and {} of {} MiB are free; use a smaller size, fewer "
       "frames per step or a memory limit",
       device_, bytes >> 20, count.free >> 20, count.total >> 20);
}

}  // namespace zoetrope::cuda
