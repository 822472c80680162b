// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "tests/base/refusal.h"

namespace zoetrope {
namespace {

constexpr std::array kAll = {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                             DType::kInt64,   DType::kInt32,   DType::kInt16,   DType::kInt8,
                             DType::kUInt8,   DType::kBool};

// A 16-bit float as a double, from the definition: sign, `exponent_bits` of exponent, the rest
// mantissa. NaN for NaN.
double value_of(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// For each pair of neighbours a < b of a 16-bit type, all float32 around and at their midpoint must
// round to the nearer one, and the midpoint to the one with an even last bit.
template <typename Round>
void check_rounding(int exponent_bits, Round round) {
  const int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
  for (int bits = 0; bits + 1 < infinity; ++bits) {
    const auto low = static_cast<uint16_t>(bits);
    const auto high = static_cast<uint16_t>(bits + 1);
    const double midpoint = (value_of(low, exponent_bits) + value_of(high, exponent_bits)) / 2;
    const auto middle = static_cast<float>(midpoint);
    ASSERT_EQ(static_cast<double>(middle), midpoint);  // float32 is finer than either type
    ASSERT_EQ(round(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(round(std::nextafter(middle, 0.0F)), low) << bits;
    ASSERT_EQ(round(std::nextafter(middle, INFINITY)), high) << bits;
    ASSERT_EQ(round(-middle), (bits % 2 == 0 ? low : high) | 0x8000) << bits;
  }
}

TEST(DType, NamesRoundTrip) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_FALSE(parse_dtype("float8"));
  EXPECT_FALSE(parse_dtype(""));
}

TEST(DType, RefusesAValueThatIsNoDType) {
  refusal(ErrorCode::kInternal, [] { return size_of(static_cast<DType>(200)); });
}

TEST(DType, ReadsEveryBFloat16) {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const double expected = value_of(static_cast<uint16_t>(bits), 8);
    const float found = bfloat16_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(found, expected) << bits;
      ASSERT_EQ(std::signbit(found), bits >= 0x8000) << bits;
    }
  }
}

TEST(DType, ReadsEveryFloat16) {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const double expected = value_of(static_cast<uint16_t>(bits), 5);
    const float found = float16_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(found, expected) << bits;
      ASSERT_EQ(std::signbit(found), bits >= 0x8000) << bits;
    }
  }
}

TEST(DType, RoundsToTheNearestBFloat16TiesToEven) { check_rounding(8, float_to_bfloat16); }

TEST(DType, RoundsToTheNearestFloat16TiesToEven) { check_rounding(5, float_to_float16); }

TEST(DType, OverflowsToInfinity) {
  EXPECT_EQ(float_to_float16(65519.99F), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_float16(-1e30F), 0xfc00);
  EXPECT_EQ(float_to_float16(INFINITY), 0x7c00);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bfloat16(-INFINITY), 0xff80);
}

TEST(DType, KeepsNaN) {
  // The second has its only mantissa bits where a 16-bit type has none.
  for (const uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xff800001U}) {
    const auto value = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value)))) << bits;
    EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(value)))) << bits;
  }
}

TEST(DType, LoadsEveryTypeAtAnyAlignment) {
  std::vector<char> bytes(3 * 8 + 1);
  const auto put = [&](auto value) {
    std::memcpy(bytes.data() + 1 + sizeof(value), &value, sizeof(value));
  };
  const auto load = [&](DType dtype) { return load_as_float(bytes.data() + 1, dtype, 1); };
  put(-1.5);
  EXPECT_EQ(load(DType::kFloat64), -1.5F);
  put(0.1F);
  EXPECT_EQ(load(DType::kFloat32), 0.1F);
  put(float_to_float16(0.25F));
  EXPECT_EQ(load(DType::kFloat16), 0.25F);
  put(float_to_bfloat16(-3.0F));
  EXPECT_EQ(load(DType::kBFloat16), -3.0F);
  put(int64_t{-5000000000});
  EXPECT_EQ(load(DType::kInt64), -5e9F);
  put(int32_t{-70000});
  EXPECT_EQ(load(DType::kInt32), -70000.0F);
  put(int16_t{-300});
  EXPECT_EQ(load(DType::kInt16), -300.0F);
  put(int8_t{-3});
  EXPECT_EQ(load(DType::kInt8), -3.0F);
  put(uint8_t{200});
  EXPECT_EQ(load(DType::kUInt8), 200.0F);
  put(uint8_t{1});
  EXPECT_EQ(load(DType::kBool), 1.0F);
}

TEST(DType, StoresWhatItLoads) {
  for (const DType dtype : kAll) {
    std::array<char, 16> bytes = {};
    if (!is_floating(dtype)) {
      refusal(ErrorCode::kInternal, [&] { store_from_float(bytes.data(), dtype, 0, 1.0F); });
      continue;
    }
    store_from_float(bytes.data(), dtype, 1, -0.625F);
    EXPECT_EQ(load_as_float(bytes.data(), dtype, 1), -0.625F) << name_of(dtype);
    EXPECT_EQ(load_as_float(bytes.data(), dtype, 0), 0.0F) << name_of(dtype);
  }
}

TEST(DType, ConvertsArraysAsElements) {
  std::vector<uint16_t> halves;
  for (int bits = 0; bits < 0x7c00; bits += 7) halves.push_back(static_cast<uint16_t>(bits));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<float> values(halves.size());
    convert_to_float(halves.data(), dtype, static_cast<int64_t>(halves.size()), values.data());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], load_as_float(halves.data(), dtype, static_cast<int64_t>(i)));
    }
  }
}

template <typename To>
To converted(double value, DType to, int64_t overflow = -1) {
  To result = {};
  EXPECT_EQ(convert_floating(&value, DType::kFloat64, 1, to, &result), overflow) << value;
  return result;
}

TEST(DType, RoundsDoublesOnce) {
  // So close to a midpoint that float32 cannot tell.
  for (const auto& [dtype, exponent_bits] :
       {std::pair(DType::kFloat16, 5), std::pair(DType::kBFloat16, 8)}) {
    check_rounding(exponent_bits, [dtype = dtype](float value) {
      return converted<uint16_t>(static_cast<double>(value), dtype,
                                 std::fabs(value) >= 65520 && dtype == DType::kFloat16 ? 0 : -1);
    });
    const int mantissa_bits = 15 - exponent_bits;
    const double midpoint = 1 + std::ldexp(1, -mantissa_bits - 1);
    const uint16_t one = converted<uint16_t>(1, dtype);
    EXPECT_EQ(converted<uint16_t>(std::nextafter(midpoint, 2), dtype), one + 1);
    EXPECT_EQ(converted<uint16_t>(midpoint, dtype), one);
    const double next = midpoint + std::ldexp(1, -mantissa_bits);
    EXPECT_EQ(converted<uint16_t>(std::nextafter(next, 0), dtype), one + 1);
    EXPECT_EQ(converted<uint16_t>(next, dtype), one + 2);
    EXPECT_EQ(converted<uint16_t>(-std::nextafter(next, 0), dtype), 0x8000 | (one + 1));
    EXPECT_EQ(converted<uint16_t>(-1e-300, dtype), 0x8000);
  }
  EXPECT_EQ(converted<float>(1 + 0x1p-24, DType::kFloat32), 1.0F);
}

TEST(DType, WidensExactly) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    double wide = 0;
    ASSERT_EQ(convert_floating(&half, DType::kBFloat16, 1, DType::kFloat64, &wide), -1);
    const float expected = bfloat16_to_float(half);
    if (std::isnan(expected)) continue;
    ASSERT_EQ(wide, static_cast<double>(expected));
    float single = 0;
    convert_floating(&half, DType::kBFloat16, 1, DType::kFloat32, &single);
    ASSERT_EQ(std::bit_cast<uint32_t>(single), std::bit_cast<uint32_t>(expected));
  }
}

TEST(DType, TellsWhichFiniteValueBecameInfinite) {
  const std::array<float, 4> values = {1, INFINITY, 65519, 65520};
  std::array<uint16_t, 4> halves = {};
  EXPECT_EQ(convert_floating(values.data(), DType::kFloat32, 3, DType::kFloat16, halves.data()),
            -1);
  EXPECT_EQ(convert_floating(values.data(), DType::kFloat32, 4, DType::kFloat16, halves.data()), 3);
  EXPECT_EQ(halves[3], 0x7c00);
  converted<float>(1e39, DType::kFloat32, 0);
  converted<uint16_t>(std::nan(""), DType::kBFloat16);
}

TEST(DType, ConvertsNothingFromNull) {
  convert_to_float(nullptr, DType::kFloat32, 0, nullptr);
  convert_to_float(nullptr, DType::kBFloat16, 0, nullptr);
}

}  // namespace
}  // namespace zoetrope
