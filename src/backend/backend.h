// SPDX-License-Identifier: Apache-2.0
// One opened device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "backend/queue.h"
#include "backend/target.h"
#include "zoetrope/autoencoder.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Target& target() const = 0;

  // Where its Memory is.
  virtual Device device() const { return {}; }

  // Frames per step that suit the device when memory does not matter.
  virtual int64_t default_frames_per_step() const = 0;

  // That share a step's work.
  virtual int threads() const { return 1; }

  // Bytes that the device has in all.
  virtual int64_t memory_capacity() const = 0;

  // Bytes of it that nobody has taken, as far as that is known.
  virtual int64_t memory_free() const { return memory_capacity(); }

  virtual MemoryUse memory_use() const { return {}; }

  // Bytes beyond which a Stream takes fewer frames per step, unless told a number or a limit.
  virtual int64_t memory_budget() const { return memory_capacity(); }

  // What it reaches at most now, in flops and bytes per second; see zoetrope/tools.h.
  virtual double measure_peak_flops(DType operands) const = 0;
  virtual double measure_copy_bandwidth() const = 0;

  // Not zeroed. Throws kOutOfMemory.
  virtual std::unique_ptr<Memory> allocate(int64_t bytes) const = 0;

  // Whether kernels can read constants where they lie in the host's memory, which then are not
  // copied.
  virtual bool reads_in_place(const std::byte* /*host*/) const { return false; }

  // Gives memory that was freed back to the system.
  virtual void trim() const {}

  virtual void copy_from_host(std::byte* device, const void* host, int64_t bytes) const = 0;
  virtual void copy_to_host(void* host, const std::byte* device, int64_t bytes) const = 0;

  // `cuda_stream`: the caller's, which then orders the work; see StreamOptions.
  virtual std::unique_ptr<Queue> open_queue(std::optional<void*> cuda_stream) const = 0;
};

}  // namespace zoetrope
