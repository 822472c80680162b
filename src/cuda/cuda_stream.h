// SPDX-License-Identifier: Apache-2.0
// CUDA's streams and events as objects.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/cuda_error.h"

namespace zoetrope::cuda {

// Waits for no other stream, and none for it.
class OwnStream {
 public:
  OwnStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cuda stream"); }
  ~OwnStream() { (void)cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A place in a stream's order.
class Event {
 public:
  enum class Kind : unsigned { kTimed = cudaEventDefault, kOrder = cudaEventDisableTiming };

  explicit Event(Kind kind) {
    check(cudaEventCreateWithFlags(&event_, static_cast<unsigned>(kind)), "cuda event");
  }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cuda event"); }

  // Whether the device has come here; true before any record().
  bool is_past() const {
    const cudaError_t error = cudaEventQuery(event_);
    if (error != cudaErrorNotReady) {
      check(error, "cuda event");
      return true;
    }
    (void)cudaGetLastError();  // else the next launch would take it for its own
    return false;
  }
  void wait() const { check(cudaEventSynchronize(event_), "cuda event"); }

  // Seconds from `start` to here, once both have come; both must be kTimed.
  double seconds_since(const Event& start) const {
    wait();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cuda event");
    return double{milliseconds} * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Returns when `bytes` bytes are copied, in the stream's order.
inline void copy_and_wait(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream), "copy");
  check(cudaStreamSynchronize(stream), "copy");
}

}  // namespace zoetrope::cuda
