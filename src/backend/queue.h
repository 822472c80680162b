// SPDX-License-Identifier: Apache-2.0
// Work on an opened device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/plan.h"
#include "base/finite.h"
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
  std::byte* scratch = nullptr;             // Target::scratch_bytes

  bool operator==(const Launch&) const = default;
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
  std::span<const float> scale;     // per channel; empty: none
  std::span<const float> offset;    // per channel; empty: none
  bool clamp = false;               // to [-1, 1]
  NotFiniteTally* tally = nullptr;  // in the device's memory, of what is to be clamped; null: none
  int64_t first_frame = 0;          // for the tally, of the views' first
};

// Work of one Stream, done in the order in which it is asked for and perhaps after the call
// returned. Belongs to one thread at a time; a device may have many.
class Queue {
 public:
  virtual ~Queue() = default;

  // Not zeroed; freed in the queue's order. Throws kOutOfMemory.
  virtual std::unique_ptr<Memory> allocate(int64_t bytes) = 0;
  virtual void copy_from_host(std::byte* device, const void* host, int64_t bytes) = 0;
  virtual void copy_to_host(void* host, const std::byte* device, int64_t bytes) = 0;  // waits
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void zero(std::byte* device, int64_t bytes) = 0;
  virtual void copy_edge(const EdgeCopy& edge, const RunControl& control) = 0;

  // Every step of the Plan in order. `plan` and what `launch` points to must outlive the queue: it
  // may keep how they were run.
  virtual void run(const Plan& plan, const Launch& launch, const RunControl& control) = 0;

  // Returns when results on the host are there, and those on the device for whoever goes on in the
  // order of this queue's work.
  virtual void finish() = 0;

  // Returns when nothing is under way.
  virtual void wait() = 0;
};

}  // namespace zoetrope
