// SPDX-License-Identifier: Apache-2.0
// How to compute a Graph: steps over buffers, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// Size of a buffer in a step of n latent frames over a video of height x width.
struct Extent {
  int64_t frames = 1;  // times n if frames_per_latent
  bool frames_per_latent = true;
  int64_t stride = 1;  // video pixels per pixel, each way
  int64_t channels = 0;
  DType dtype = DType::kFloat32;

  int64_t frame_count(int64_t n) const { return frames_per_latent ? frames * n : frames; }
  int64_t bytes(int64_t n, int64_t height, int64_t width) const {
    return frame_count(n) * (height / stride) * (width / stride) * channels * size_of(dtype);
  }
  bool operator==(const Extent&) const = default;
};

enum class BufferKind : uint8_t {
  kInput,   // filled by the Stream before the step
  kOutput,  // read by the Stream after it
  kState,   // a history: kept between steps
  kArena,   // shares memory with buffers that live at other times
};

// "input", ...
const char* name_of(BufferKind kind);

struct Buffer {
  std::string name;  // of the value; "<op>.workspace" for a kernel's scratch
  BufferKind kind = BufferKind::kArena;
  Extent extent;
  int64_t extra_bytes = 0;  // beyond the extent
  int64_t alignment = 64;
  int32_t first_step = 0;  // live from here ...
  int32_t last_step = 0;   // ... to here, both included

  int64_t bytes(int64_t n, int64_t height, int64_t width) const {
    return extent.bytes(n, height, width) + extra_bytes;
  }
  bool operator==(const Buffer&) const = default;
};

// Weights in the layout that a kernel reads. The bytes are kept by whoever loaded the Plan.
struct PackedConstant {
  std::string name;    // the Graph constant's
  std::string layout;  // as chosen by the Target
  int64_t bytes = 0;
  bool operator==(const PackedConstant&) const = default;
};

struct Step {
  std::string name;    // of the value it makes
  std::string op;      // of the Graph op, e.g. "conv"
  std::string kernel;  // a row of the backend's table
  std::map<std::string, int64_t> attributes = {};
  std::map<std::string, int32_t> buffers = {};  // role ("x", "history", "y", ...) -> Plan::buffers
  std::map<std::string, int32_t> constants = {};  // role ("weight", "bias", ...) -> Plan::constants
  std::vector<std::string> refused = {};          // "kernel: why not", for more specific kernels
  bool operator==(const Step&) const = default;
};

enum class Reach : uint8_t {
  kLocal,  // an output pixel depends on a bounded neighbourhood
  kFrame,  // an output pixel depends on its whole frame
};

// Consecutive steps that can run over one rectangle of the frame.
struct Segment {
  int32_t first_step = 0;
  int32_t step_count = 0;
  Reach reach = Reach::kLocal;
  int64_t halo = 0;  // kLocal: input pixels needed around the rectangle, in video pixels
  bool operator==(const Segment&) const = default;
};

struct Plan {
  std::string entry;   // "encode.first", ...
  std::string target;  // that the kernels were chosen for
  std::vector<Buffer> buffers;
  std::vector<PackedConstant> constants;
  std::vector<Step> steps;
  std::vector<Segment> segments;
  int32_t input = -1;
  int32_t output = -1;
  bool operator==(const Plan&) const = default;
};

// What one step does in a launch over n latent frames of a height x width video.
struct Work {
  // Products and sums by the op's definition, counted as two; a kernel may get by with fewer.
  double flops = 0;
  double bytes = 0;  // each operand, result and constant once: the least that memory must move
};
Work work_of(const Plan& plan, const Step& step, int64_t n, int64_t height, int64_t width);

std::string to_json(const Plan& plan);

// Throws kInvalidArgument if the text is not a Plan or refers to what it does not hold.
Plan plan_from_json(const std::string& text);

}  // namespace zoetrope
