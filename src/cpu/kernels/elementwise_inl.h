// SPDX-License-Identifier: Apache-2.0
// Vectors of floats at the ends of arrays, and exp and SiLU, compiled for each instruction set.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#undef ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_ELEMENTWISE_INL_H_
#endif

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

// `count` (at most a vector) floats, zeros after them. Touches no other memory.
HWY_INLINE FloatVector load_first(const float* from, int64_t count) {
  alignas(64) float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(buffer, from, static_cast<size_t>(count) * sizeof(float));
  return hn::LoadU(FloatTag(), buffer);
}

HWY_INLINE void store_first(FloatVector value, float* to, int64_t count) {
  alignas(64) float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::StoreU(value, FloatTag(), buffer);
  std::memcpy(to, buffer, static_cast<size_t>(count) * sizeof(float));
}

// Calls apply(index, load, store) for each vector of [0, count): the last one may be partial, and
// goes through the same arithmetic.
template <class Apply>
HWY_INLINE void for_each_vector(int64_t count, const Apply& apply) {
  const FloatTag d;
  int64_t i = 0;
  const auto load = [&](const float* from) HWY_ATTR { return hn::LoadU(d, from + i); };
  const auto store = [&](FloatVector value, float* to) HWY_ATTR { hn::StoreU(value, d, to + i); };
  for (; i + lanes() <= count; i += lanes()) apply(load, store);
  if (i == count) return;
  apply([&](const float* from) HWY_ATTR { return load_first(from + i, count - i); },
        [&](FloatVector value, float* to) HWY_ATTR { store_first(value, to + i, count - i); });
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

// x * sigmoid(x). With z = e^-|x|, which cannot overflow: x / (1 + z), or x z / (1 + z) below 0.
HWY_INLINE FloatVector silu(FloatVector x) {
  const FloatTag d;
  const FloatVector z = exp_nonpositive(hn::Neg(hn::Abs(x)));
  const FloatVector numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, z), x);
  return hn::Div(numerator, hn::Add(hn::Set(d, 1.0F), z));
}

}  // namespace elementwise
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
