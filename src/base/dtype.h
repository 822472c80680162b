// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and the types that tensors are stored in.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// "float32" and the like, or empty.
std::optional<DType> parse_dtype(std::string_view name);

bool is_floating(DType dtype);

inline float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Rounds to nearest, ties to even; NaN stays NaN.
uint16_t float_to_bfloat16(float value);
float float16_to_float(uint16_t bits);
uint16_t float_to_float16(float value);

// Element `index` of contiguous `data` as a float; any alignment.
float load_as_float(const void* data, DType dtype, int64_t index);

// Rounds to `dtype`, a floating type, at element `index`.
void store_from_float(void* data, DType dtype, int64_t index, float value);

// Elements of one floating type, contiguous, as those of another: each rounded once, to nearest,
// ties to even. Returns the index of the first element that was finite and whose rounded value is
// not, or -1.
int64_t convert_floating(const void* source, DType from, int64_t count, DType to,
                         void* destination);

// `count` contiguous elements of any type and alignment.
void convert_to_float(const void* source, DType dtype, int64_t count, float* destination);

}  // namespace zoetrope
