// SPDX-License-Identifier: Apache-2.0
// What to compute: ops over values. Knows no device and no file.
//
// A step of n latent frames over a video of height H and width W gives every value a shape
// (frames, H / stride, W / stride, channels), where frames is a constant times n. Nothing else
// about shapes varies, so one Graph serves every size and every number of frames.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope::graph {

using ValueId = int32_t;
using ConstantId = int32_t;
inline constexpr int32_t kNone = -1;

enum class ValueKind : uint8_t {
  kInput,    // the step's frames or latents
  kHistory,  // frames kept from earlier steps
  kResult,   // made by an op
};

struct Value {
  std::string name;  // the published layer that makes it, e.g. "encoder.conv1"
  ValueKind kind = ValueKind::kResult;
  int64_t frames = 1;  // frames per latent frame of the step; of a history: its frames
  int64_t stride = 1;  // video pixels per pixel, each way
  int64_t channels = 0;
  DType dtype = DType::kFloat32;
};

// Weights, read when they are packed. Readers of folded constants call other readers.
struct Constant {
  std::string name;            // the published tensor, e.g. "encoder.conv1.weight"
  std::vector<int64_t> shape;  // convs: (c_out, c_in, kt, kh, kw); vectors: (channels)
  std::function<std::vector<float>()> read;  // row-major
};

enum class OpKind : uint8_t {
  kConv,             // y = conv(x) + bias [+ shortcut] [+ residual]; see Op
  kRmsNorm,          // y = x / max(|x|, 1e-12) * sqrt(channels) * gamma [, then SiLU]
  kSilu,             // y = x * sigmoid(x)
  kAdd,              // y = x + residual
  kUpsampleNearest,  // every pixel becomes 2 x 2
  kFrameInterleave,  // (2c channels) -> two consecutive frames of c channels each
  kAttention,        // x holds q, k, v (3c channels); one head over the positions of each frame
  kCarry,            // history_out = last frames of (history, x)
};

// Taps and strides of a conv. In time, output frame j reads the input frames
//   j * stride_time + tap - (kernel_time - stride_time),  first_tap <= tap < kernel_time,
// where negative frames are the history's. In space, zeros surround the input: pad_before above
// and left, what the output's size asks for below and right.
struct ConvShape {
  int64_t kernel_time = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t first_tap = 0;  // kernel_time - 1 where all history is zero (entry "first")
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  int64_t pad_before = 0;

  int64_t history_frames() const { return kernel_time - stride_time; }
  int64_t taps() const { return kernel_time * kernel_height * kernel_width; }
};

// Where a conv's results go.
enum class StoreMap : uint8_t {
  kPlain,
  // The first half of the channels is a frame, the second half the frame after it.
  kFrameInterleave,
  // Nearest x 2 in space, then a 3x3 conv: four 2x2 convs, one for each of the 2 x 2 output pixels
  // (p, q) of an input pixel, whose window begins pad_before - p rows above and pad_before - q
  // columns left. The weight holds the four one after another: (0, 0), (0, 1), (1, 0), (1, 1).
  kUpsamplePhases,
};

// A conv may do what other ops would do before or after it, once passes have fused them:
//   raw       = conv(x) + bias [+ shortcut_weight applied to shortcut, pixel by pixel] [+ residual]
//   y         = raw
//   activated = raw / max(|raw|, 1e-12) * sqrt(channels) * gamma [, then SiLU]
// At least one of y and activated is there; each has its own type.
struct Op {
  OpKind kind = OpKind::kConv;
  std::string name;  // the published layer
  ValueId x = kNone;
  ValueId history = kNone;
  ValueId residual = kNone;
  ValueId shortcut = kNone;
  ConstantId weight = kNone;
  ConstantId bias = kNone;
  ConstantId gamma = kNone;
  ConstantId shortcut_weight = kNone;
  ConvShape conv = {};
  StoreMap store = StoreMap::kPlain;
  bool silu = false;  // SiLU follows the norm
  ValueId y = kNone;
  ValueId activated = kNone;
  ValueId history_out = kNone;  // the history's new content; the same frames as `history`
};

struct Graph {
  std::string name;  // the entry: "encode.first", ...
  std::vector<Value> values;
  std::vector<Constant> constants;
  std::vector<Op> ops;  // in order: operands come before their use
  ValueId input = kNone;
  ValueId output = kNone;
  double input_bound = std::numeric_limits<double>::infinity();  // on |element| of the input

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  const Constant& constant(ConstantId id) const { return constants[static_cast<size_t>(id)]; }
};

const char* name_of(OpKind kind);

// Values that the op reads, constants left out; and values that it makes.
std::vector<ValueId> operands_of(const Op& op);
std::vector<ValueId> results_of(const Op& op);

// Constants that the op reads.
std::vector<ConstantId> constants_of(const Op& op);

// y, or activated where only that is kept; kNone for kCarry.
ValueId main_result(const Op& op);

// Multiplications and additions of one op in a step of n latent frames, counted as two, taps that
// fall on padding or on an empty history included: the arithmetic that models are compared by.
double flops(const Graph& graph, const Op& op, int64_t n, int64_t height, int64_t width);

}  // namespace zoetrope::graph
