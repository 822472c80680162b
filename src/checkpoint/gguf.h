// SPDX-License-Identifier: Apache-2.0
// GGUF, the container of ggml: keys and values, then tensors of up to four dimensions, the fastest
// first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace zoetrope {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersion = 3;
inline constexpr size_t kGgufAlignment = 32;  // of the data, where general.alignment is absent
inline constexpr size_t kGgufDims = 4;        // GGML_MAX_DIMS

// Tensors of more axes than four are stored with the first of them multiplied together; this key
// and the tensor's name keep the shape, as ComfyUI-GGUF expects it: an array of integers.
inline constexpr std::string_view kGgufShapeKey = "comfy.gguf.orig_shape.";

enum class GgufValue : uint32_t {
  kUInt8 = 0,
  kInt8 = 1,
  kUInt16 = 2,
  kInt16 = 3,
  kUInt32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUInt64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

struct GgufType {
  uint32_t id;  // ggml_type
  DType dtype;
};

// The types that are numbers and nothing else; the others are quantised in blocks.
inline constexpr std::array<GgufType, 8> kGgufTypes = {{
    {0, DType::kFloat32},
    {1, DType::kFloat16},
    {24, DType::kInt8},
    {25, DType::kInt16},
    {26, DType::kInt32},
    {27, DType::kInt64},
    {28, DType::kFloat64},
    {30, DType::kBFloat16},
}};

// Throws kIo, kCheckpoint.
std::shared_ptr<const Checkpoint> open_gguf(const std::string& path);

}  // namespace zoetrope
