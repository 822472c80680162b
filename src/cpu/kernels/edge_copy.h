// SPDX-License-Identifier: Apache-2.0
// Between the caller's tensors and the model's values: type, axes, range, per-channel scale.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/finite.h"
#include "base/thread_pool.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope::cpu {

// A tensor with the axes (frames, height, width, channels); strides in elements.
struct StridedTensor {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  std::array<int64_t, 4> strides = {};
};

struct EdgeCopyArgs {
  std::array<int64_t, 4> shape = {};  // (frames, height, width, channels)
  StridedTensor from = {};            // uint8 with kBytes, else float32, float16 or bfloat16
  StridedTensor to = {};
  Range from_range = Range::kSigned;
  Range to_range = Range::kSigned;
  std::span<const float> scale = {};   // per channel; empty: 1
  std::span<const float> offset = {};  // per channel; empty: 0
  bool clamp = false;                  // to [-1, 1]
  NotFiniteTally* tally = nullptr;     // of what is to be clamped; null: none
  int64_t first_frame = 0;             // for the tally
};

// Each element: read, brought to -1 .. 1, * scale + offset, clamped, brought to the range of `to`
// and rounded to its type. uint8 is read as x / 127.5 - 1 and written as round((x + 1) * 127.5),
// halves to even as PyTorch rounds, clamped to 0 .. 255, NaN as 0.
void edge_copy(const EdgeCopyArgs& args, ThreadPool& pool, const LoopControl& control);

}  // namespace zoetrope::cpu
