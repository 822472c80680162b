// SPDX-License-Identifier: Apache-2.0
// Vectors of floats from and to arrays, and exp, SiLU and norms, compiled for each instruction set.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#undef ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace elementwise {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

inline int64_t lanes() { return static_cast<int64_t>(hn::Lanes(FloatTag())); }

// Vectors of floats from and to memory of either type of operands; uint16_t holds bfloat16.
HWY_INLINE FloatVector load(const float* from) { return hn::LoadU(FloatTag(), from); }
HWY_INLINE void store(FloatVector value, float* to) { hn::StoreU(value, FloatTag(), to); }

using BFloat16Tag = hn::Rebind<uint16_t, FloatTag>;

HWY_INLINE FloatVector to_float(hn::Vec<BFloat16Tag> bits) {
  const hn::RebindToUnsigned<FloatTag> d32;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

HWY_INLINE FloatVector load(const uint16_t* from) {
  return to_float(hn::LoadU(BFloat16Tag(), from));
}

// Rounds as float_to_bfloat16 does: to nearest, ties to even; NaN stays NaN.
HWY_INLINE hn::Vec<BFloat16Tag> to_bfloat16(FloatVector value) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::RebindToSigned<FloatTag> di32;
  const auto bits = hn::BitCast(d32, value);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto half = hn::Add(hn::And(upper, hn::Set(d32, 1)), hn::Set(d32, 0x7fff));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, half));
  const auto quiet = hn::Or(upper, hn::Set(d32, 0x40));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(value));
  const auto result = hn::IfThenElse(is_nan, quiet, rounded);
  return hn::DemoteTo(BFloat16Tag(), hn::BitCast(di32, result));  // 0 .. 0xffff: exact
}

HWY_INLINE void store(FloatVector value, uint16_t* to) {
  hn::StoreU(to_bfloat16(value), BFloat16Tag(), to);
}

// load_first: `count` (at most a vector) values, zeros after them. Touches no other memory, nor
// does store_first.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3  // whose masked accesses are instructions
HWY_INLINE FloatVector load_first(const float* from, int64_t count) {
  const FloatTag d;
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}

HWY_INLINE FloatVector load_first(const uint16_t* from, int64_t count) {
  const BFloat16Tag d;
  return to_float(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from));
}

HWY_INLINE void store_first(FloatVector value, float* to, int64_t count) {
  const FloatTag d;
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
}

HWY_INLINE void store_first(FloatVector value, uint16_t* to, int64_t count) {
  const BFloat16Tag d;
  hn::BlendedStore(to_bfloat16(value), hn::FirstN(d, static_cast<size_t>(count)), d, to);
}
#else
template <class T>
HWY_INLINE FloatVector load_first(const T* from, int64_t count) {
  alignas(64) T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(buffer, from, static_cast<size_t>(count) * sizeof(T));
  return load(buffer);
}

template <class T>
HWY_INLINE void store_first(FloatVector value, T* to, int64_t count) {
  alignas(64) T buffer[HWY_MAX_BYTES / sizeof(float)];
  store(value, buffer);
  std::memcpy(to, buffer, static_cast<size_t>(count) * sizeof(T));
}
#endif

// Calls apply(load, store) for each vector of [0, count), where load(from) and store(value, to)
// take the arrays' beginnings: the last vector may be partial, and goes through the same
// arithmetic.
template <class Apply>
HWY_INLINE void for_each_vector(int64_t count, const Apply& apply) {
  int64_t i = 0;
  const auto load_here = [&](const auto* from) HWY_ATTR { return load(from + i); };
  const auto store_here = [&](FloatVector value, auto* to) HWY_ATTR { store(value, to + i); };
  for (; i + lanes() <= count; i += lanes()) apply(load_here, store_here);
  if (i == count) return;
  apply([&](const auto* from) HWY_ATTR { return load_first(from + i, count - i); },
        [&](FloatVector value, auto* to) HWY_ATTR { store_first(value, to + i, count - i); });
}

// e^x for x <= 0, within 2 units in the last place down to the smallest normal float; NaN stays
// NaN. x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor series, whose next term is below
// 6e-9; 2^n in two factors, since n may be below the smallest exponent.
HWY_INLINE FloatVector exp_nonpositive(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const FloatVector smallest = hn::Set(d, -104.0F);  // rounds to 0
  x = hn::IfThenElse(hn::Lt(x, smallest), smallest, x);
  const FloatVector n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  // ln 2 as a sum of a float with few bits, whose product with n is exact, and the rest.
  FloatVector r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  FloatVector sum = hn::Set(d, 1.0F / 5040);
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F / 720));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F / 120));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F / 24));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F / 6));
  sum = hn::MulAdd(sum, r, hn::Set(d, 0.5F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F));
  const auto exponent = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const auto power = [&](auto e)
                         HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, bias))); };
  return hn::Mul(hn::Mul(sum, power(half)), power(hn::Sub(exponent, half)));
}

// 1 / x for x >= 1 whose inverse is a normal float, within 2 units in the last place; NaN stays
// NaN.
HWY_INLINE FloatVector reciprocal(FloatVector x) {
  const FloatTag d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3  // 14 bits, which one step of Newton's doubles
  const FloatVector guess = hn::ApproximateReciprocal(x);
  return hn::MulAdd(guess, hn::NegMulAdd(guess, x, hn::Set(d, 1.0F)), guess);
#else
  return hn::Div(hn::Set(d, 1.0F), x);
#endif
}

// x * sigmoid(x) = x / (1 + e^-x), within 4 units in the last place; 0 below -87, where it is
// beyond -2^-118. As long as a conv's whole epilogue, so every instruction counts:
// -x = n ln 2 + r with |r| <= ln 2 / 2, where adding 1.5 * 2^23 rounds to n and leaves it in the
// sum's last bits; e^r by a polynomial of least greatest error, 1.8 * 2^-24; times 2^n by adding n
// to its exponent, which stays in range for |x| <= 87.
HWY_INLINE FloatVector silu(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const FloatVector least = hn::Set(d, -87.0F);
  const FloatVector t = hn::Min(hn::Max(x, least), hn::Set(d, 87.0F));
  const FloatVector shift = hn::Set(d, 0x1.8p23F);
  const FloatVector shifted = hn::NegMulAdd(t, hn::Set(d, 1.44269504F), shift);
  const FloatVector n = hn::Sub(shifted, shift);
  // ln 2 as a sum of a float with few bits, whose product with n is exact, and the rest.
  FloatVector r = hn::NegMulSub(n, hn::Set(d, 0.693359375F), t);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  FloatVector sum = hn::Set(d, 0.00831250288F);
  sum = hn::MulAdd(sum, r, hn::Set(d, 0.0418903343F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 0.166671157F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 0.499992311F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const FloatVector power = hn::BitCast(d, hn::Add(hn::BitCast(di, sum), exponent));
  const FloatVector sigmoid = reciprocal(hn::Add(hn::Set(d, 1.0F), power));
  return hn::Mul(x, hn::IfThenZeroElse(hn::Lt(x, least), sigmoid));
}

// What a pixel's channels are multiplied with by their norm, but for gamma:
// sqrt(channels) / max(root of `squares`, 1e-12).
HWY_INLINE float norm_scale(float squares, int64_t channels) {
  const float norm = std::sqrt(squares);
  const float divisor = norm < 1e-12F ? 1e-12F : norm;  // NaN stays
  return std::sqrt(static_cast<float>(channels)) / divisor;
}

}  // namespace elementwise
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
