// SPDX-License-Identifier: Apache-2.0
// How pixels and latents are written in memory.
#pragma once

#include <cstdint>

#include "zoetrope/tensor_view.h"

namespace zoetrope {
inline namespace v0 {

// Order of the axes: C colour channels (3, RGB), T frames, H rows, W columns.
enum class Layout : uint8_t { kTHWC, kTCHW, kCTHW };

// Numbers that stand for black and white. uint8 is always 0 to 255: read as x / 127.5 - 1, written
// as round((x + 1) * 127.5), clamped.
enum class Range : uint8_t {
  kSigned,  // floating point, -1 to 1: what the model computes with
  kUnit,    // floating point, 0 to 1
  kBytes,   // uint8, 0 to 255
};

struct VideoFormat {
  Layout layout = Layout::kTHWC;
  Range range = Range::kBytes;
  DType dtype = DType::kUInt8;  // uint8 with kBytes, else float32, float16 or bfloat16
};

// kNormalized: (mean - latents_mean) / latents_std, what diffusion models consume. kRaw: the mean.
enum class LatentScale : uint8_t { kNormalized, kRaw };

}  // namespace v0
}  // namespace zoetrope
