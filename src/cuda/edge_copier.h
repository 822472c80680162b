// SPDX-License-Identifier: Apache-2.0
// Between the caller's tensors, on the host or the device, and values on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backend/backend.h"

namespace zoetrope::cuda {

// Host memory goes through two pinned buffers, which the device reads and writes itself: while it
// works on one, the host fills or empties the other.
class EdgeCopier {
 public:
  EdgeCopier(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~EdgeCopier();
  EdgeCopier(const EdgeCopier&) = delete;
  EdgeCopier& operator=(const EdgeCopier&) = delete;

  // Returns when results on the host are there; those on the device follow in the stream's order,
  // and the caller's tensors are no longer read. May be called from several threads. Throws
  // kInvalidArgument if a tensor is where the device does not reach it, kCancelled, kDevice.
  void copy(const EdgeCopy& edge, const RunControl& control);

 private:
  struct Pinned {
    std::byte* data = nullptr;
    int64_t size = 0;
    cudaEvent_t done = nullptr;
    TensorView waiting = {};  // gets the buffer's content once the device is done
  };

  void check_place(const TensorView& view) const;
  void copy_on_host(const EdgeCopy& edge, const RunControl& control);
  void copy_piece(const EdgeCopy& piece, Pinned& pinned);
  void launch(const EdgeCopy& edge) const;
  void finish(Pinned& pinned) const;
  void reserve(Pinned& pinned, int64_t bytes) const;
  void forget();

  int device_;
  cudaStream_t stream_;
  std::mutex mutex_;
  std::array<Pinned, 2> pinned_;
};

}  // namespace zoetrope::cuda
