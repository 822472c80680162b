// SPDX-License-Identifier: Apache-2.0
// Between the caller's tensors and the model's values: type, axes, range, per-channel scale.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/finite.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope::cuda {

// A tensor that the device can reach, with the axes (frames, height, width, channels); strides in
// elements. uint8 with kBytes, else float32, float16 or bfloat16.
struct StridedTensor {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Range range = Range::kSigned;
  int64_t strides[4] = {};
};

inline constexpr int kMostEdgeChannels = 64;

struct EdgeCopyArgs {
  int64_t shape[4] = {};  // (frames, height, width, channels)
  StridedTensor from = {};
  StridedTensor to = {};
  // Per channel; 1 and -0 (which keeps -0) where there is none.
  float scale[kMostEdgeChannels] = {};
  float offset[kMostEdgeChannels] = {};
  bool clamp = false;               // to [-1, 1]
  NotFiniteTally* tally = nullptr;  // of what is to be clamped; null: none
  int64_t first_frame = 0;          // for the tally
};

// Each element: read, brought to -1 .. 1, * scale + offset, clamped, brought to the range of `to`
// and rounded to its type. uint8 is read as x / 127.5 - 1 and written as round((x + 1) * 127.5),
// halves to even as PyTorch rounds, clamped to 0 .. 255, NaN as 0. The order of the elements
// follows the strides of `from` or `to`, whichever is costlier to scatter.
cudaError_t edge_copy(const EdgeCopyArgs& args, cudaStream_t stream);

}  // namespace zoetrope::cuda
