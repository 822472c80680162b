// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <array>
#include <cmath>
#include <cstring>

#include "base/fail.h"

namespace zoetrope {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t size;
  bool floating;
};

constexpr std::array<DTypeRow, 10> kRows = {{
    {DType::kFloat64, "float64", 8, true},
    {DType::kFloat32, "float32", 4, true},
    {DType::kFloat16, "float16", 2, true},
    {DType::kBFloat16, "bfloat16", 2, true},
    {DType::kInt64, "int64", 8, false},
    {DType::kInt32, "int32", 4, false},
    {DType::kInt16, "int16", 2, false},
    {DType::kInt8, "int8", 1, false},
    {DType::kUInt8, "uint8", 1, false},
    {DType::kBool, "bool", 1, false},
}};

const DTypeRow& row_of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  ZOETROPE_CHECK(index < kRows.size() && kRows[index].dtype == dtype, std::to_string(index));
  return kRows[index];
}

template <typename T>
T load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <typename T>
void store(void* data, int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value,
              sizeof(T));
}

// `value` as a float whose lowest bit tells whether anything was cut off, so that rounding it once
// more, to a type of fewer bits, gives what rounding `value` itself would ("rounding to odd").
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

// Of a floating type: exact.
double load_as_double(const void* data, DType dtype, int64_t index) {
  if (dtype == DType::kFloat64) return load<double>(data, index);
  return static_cast<double>(load_as_float(data, dtype, index));
}

void store_from_double(void* data, DType dtype, int64_t index, double value) {
  if (dtype == DType::kFloat64) return store<double>(data, index, value);
  const bool short_type = size_of(dtype) < size_of(DType::kFloat32);
  store_from_float(data, dtype, index,
                   short_type ? round_to_odd(value) : static_cast<float>(value));
}

}  // namespace

int64_t v0::size_of(DType dtype) { return row_of(dtype).size; }

std::string_view v0::name_of(DType dtype) { return row_of(dtype).name; }

bool is_floating(DType dtype) { return row_of(dtype).floating; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeRow& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);  // keep it quiet
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float float16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float32
    return std::copysign(static_cast<float>(mantissa) * 0x1p-24F, std::bit_cast<float>(sign | 1));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t float_to_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {  // subnormal: adding 0.5 leaves the rounded multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

float load_as_float(const void* data, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kFloat64:
      return static_cast<float>(load<double>(data, index));
    case DType::kFloat32:
      return load<float>(data, index);
    case DType::kFloat16:
      return float16_to_float(load<uint16_t>(data, index));
    case DType::kBFloat16:
      return bfloat16_to_float(load<uint16_t>(data, index));
    case DType::kInt64:
      return static_cast<float>(load<int64_t>(data, index));
    case DType::kInt32:
      return static_cast<float>(load<int32_t>(data, index));
    case DType::kInt16:
      return static_cast<float>(load<int16_t>(data, index));
    case DType::kInt8:
      return static_cast<float>(load<int8_t>(data, index));
    case DType::kUInt8:
    case DType::kBool:
      return static_cast<float>(load<uint8_t>(data, index));
  }
  fail(ErrorCode::kInternal, "load_as_float: unknown dtype {}", static_cast<int>(dtype));
}

void store_from_float(void* data, DType dtype, int64_t index, float value) {
  switch (dtype) {
    case DType::kFloat64:
      return store<double>(data, index, value);
    case DType::kFloat32:
      return store<float>(data, index, value);
    case DType::kFloat16:
      return store<uint16_t>(data, index, float_to_float16(value));
    case DType::kBFloat16:
      return store<uint16_t>(data, index, float_to_bfloat16(value));
    default:
      fail(ErrorCode::kInternal, "store_from_float: {} is not a floating type", name_of(dtype));
  }
}

int64_t convert_floating(const void* source, DType from, int64_t count, DType to,
                         void* destination) {
  ZOETROPE_CHECK(is_floating(from) && is_floating(to), std::string(name_of(to)));
  int64_t overflow = -1;
  for (int64_t i = 0; i < count; ++i) {
    const double value = load_as_double(source, from, i);
    store_from_double(destination, to, i, value);
    const bool lost = std::isfinite(value) && !std::isfinite(load_as_double(destination, to, i));
    if (lost && overflow < 0) overflow = i;
  }
  return overflow;
}

void convert_to_float(const void* source, DType dtype, int64_t count, float* destination) {
  if (count == 0) return;  // the pointers of an empty tensor may be null
  if (dtype == DType::kFloat32) {
    std::memcpy(destination, source, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  if (dtype == DType::kBFloat16) {  // a loop of its own, that the compiler vectorises
    for (int64_t i = 0; i < count; ++i) {
      destination[i] = bfloat16_to_float(load<uint16_t>(source, i));
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) destination[i] = load_as_float(source, dtype, i);
}

}  // namespace zoetrope
