// SPDX-License-Identifier: Apache-2.0
// One opened device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/plan.h"
#include "backend/target.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope {

// Memory of a device; freed with the object.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() const = 0;
  virtual int64_t size() const = 0;
};

// Where a Plan's buffers and constants are, for one run over n latent frames.
struct Launch {
  int64_t n = 1;
  int64_t height = 0;  // of the video
  int64_t width = 0;
  std::vector<std::byte*> buffers;          // by index in Plan::buffers; null: not kept, as a
                                            // history when images are coded in a batch
  std::vector<const std::byte*> constants;  // by index in Plan::constants
};

struct RunControl {
  std::function<bool()> cancelled = {};  // polled per work item, from any thread
  // Steps done and their number, from the calling thread.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // After each step, with the time it took on the device; empty: no clock is read.
  std::function<void(const Step&, const Launch&, double seconds)> observer = {};
};

// Copies between the caller's tensors and values, converting type, axes and range. Both views have
// the axes (frames, height, width, channels), in any strides. Each element goes
//   read in its range as -1 to 1  ->  * scale[c] + offset[c]  ->  clamp  ->  written in its range.
struct EdgeCopy {
  TensorView from;
  TensorView to;
  Range from_range = Range::kSigned;
  Range to_range = Range::kSigned;
  std::span<const float> scale;   // per channel; empty: none
  std::span<const float> offset;  // per channel; empty: none
  bool clamp = false;             // to [-1, 1]
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Target& target() const = 0;

  // Where its Memory is.
  virtual Device device() const { return {}; }

  // Frames per step that suit the device when memory does not matter.
  virtual int64_t default_frames_per_step() const = 0;

  // Bytes that the device has in all.
  virtual int64_t memory_capacity() const = 0;

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
  virtual void copy_from_host(std::byte* device, const void* host, int64_t bytes) const = 0;
  virtual void copy_to_host(void* host, const std::byte* device, int64_t bytes) const = 0;
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) const = 0;
  virtual void zero(std::byte* device, int64_t bytes) const = 0;
  virtual void copy_edge(const EdgeCopy& edge, const RunControl& control) const = 0;

  // Runs every step of the Plan in order and returns when its results are there.
  virtual void run(const Plan& plan, const Launch& launch, const RunControl& control) const = 0;
};

}  // namespace zoetrope
