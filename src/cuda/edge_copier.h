// SPDX-License-Identifier: Apache-2.0
// Between the caller's tensors, on the host or the device, and values on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backend/queue.h"

namespace zoetrope::cuda {

// Host memory goes through pinned buffers, which the device reads and writes itself in the order of
// a stream: while it computes, the host fills those of the next step and empties those of the last.
class EdgeCopier {
 public:
  EdgeCopier(int device, cudaStream_t stream);
  ~EdgeCopier();
  EdgeCopier(const EdgeCopier&) = delete;
  EdgeCopier& operator=(const EdgeCopier&) = delete;

  // Tensors of the host that are read have been read when it returns; those that are written are
  // there after finish(). The device's follow in the stream's order. Throws kInvalidArgument if a
  // tensor is where the device does not reach it, kCancelled, kDevice.
  void copy(const EdgeCopy& edge, const RunControl& control);
  void finish();

 private:
  class Pinned;

  void check_place(const TensorView& view) const;
  void copy_on_host(const EdgeCopy& edge, const RunControl& control);
  void copy_piece(const EdgeCopy& piece);
  void launch(const EdgeCopy& edge) const;
  std::unique_ptr<Pinned> take(int64_t bytes);
  void retire();

  int device_;
  cudaStream_t stream_;
  std::deque<std::unique_ptr<Pinned>> busy_;  // in the stream's order
  std::vector<std::unique_ptr<Pinned>> idle_;
};

}  // namespace zoetrope::cuda
