// SPDX-License-Identifier: Apache-2.0
// Work of one Stream on a GPU, in the order of one CUDA stream.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/queue.h"
#include "cuda/captured_plan.h"
#include "cuda/cuda_stream.h"
#include "cuda/device_heap.h"
#include "cuda/edge_copier.h"

namespace zoetrope::cuda {

class CudaQueue : public Queue {
 public:
  // `stream`: the caller's; empty: one of its own. `heap` must outlive the queue.
  CudaQueue(int device, DeviceHeap& heap, std::optional<void*> stream);
  ~CudaQueue() override;

  std::unique_ptr<Memory> allocate(int64_t bytes) override;
  void copy_from_host(std::byte* device, const void* host, int64_t bytes) override;
  void copy_to_host(void* host, const std::byte* device, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void zero(std::byte* device, int64_t bytes) override;
  void copy_edge(const EdgeCopy& edge, const RunControl& control) override;
  void run(const Plan& plan, const Launch& launch, const RunControl& control) override;
  void finish() override;
  void wait() override;

 private:
  bool replay(const Plan& plan, const Launch& launch);

  int device_;
  DeviceHeap& heap_;
  std::optional<OwnStream> own_;
  cudaStream_t stream_;
  EdgeCopier edges_;
  std::vector<CapturedPlan> captured_;
  std::array<Event, 2> run_ends_;  // of the latest runs
  size_t runs_ = 0;
};

}  // namespace zoetrope::cuda
