// SPDX-License-Identifier: Apache-2.0
// The one matrix product of convs and attention, compiled for each instruction set. A tile is
// kTileRows rows by up to kTileVectors vectors of columns, held in registers: for each k the
// columns' vectors are loaded once, and each row's value is broadcast once.
//
// Rows are pointers, one for each row and tap, so that what lies outside an image is a row of
// zeros, and a tile may run over the ends of lines and frames.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_MULTIPLY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_MULTIPLY_INL_H_
#undef ZOETROPE_CPU_KERNELS_MULTIPLY_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_MULTIPLY_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

// Sums + vectors + one broadcast fit the registers, and there are enough independent sums to hide
// a multiply-add's latency of 4 clocks on two ports:
// AVX3, 32 registers: 8 x 3 sums, 11 loads for 24 multiply-adds; 48 divides 96, 192 and 384.
// AVX2, 16 registers: 6 x 2 sums, 8 loads for 12 multiply-adds.
// SSE4: 4 x 2 sums leave registers for the products, which are separate from the sums.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr int kTileRows = 8;
constexpr int kTileVectors = 3;
#elif HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;
#else
constexpr int kTileRows = 4;
constexpr int kTileVectors = 2;
#endif

inline int64_t vector_lanes() { return static_cast<int64_t>(hn::Lanes(FloatTag())); }

// Calls product<vectors>() for the panel that begins at `first` of `count` columns.
template <class Product>
HWY_INLINE void with_panel_vectors(int64_t first, int64_t count, const Product& product) {
  static_assert(kTileVectors == 2 || kTileVectors == 3);
  const int64_t left = (count - first + vector_lanes() - 1) / vector_lanes();
  if (left == 1) {
    product.template operator()<1>();
  } else if (left == 2) {
    product.template operator()<2>();
  } else {
    product.template operator()<kTileVectors>();
  }
}

// For each row i and vector j calls
//   finish(i, j, sum over tap, k of rows[tap * kTileRows + i][k] * panel[tap][k][vector j]),
// each lane summed in the order of taps, then k, from zero, by multiply-adds alone.
// panel: (taps, depth, vectors * lanes)
// A function of its own: inlined, the rows' pointers would not all find a register.
template <int vectors, class Finish>
HWY_NOINLINE void multiply(const float* const* rows, int64_t taps, int64_t depth,
                           const float* panel, Finish finish) {
  const FloatTag d;
  const int64_t lanes = vector_lanes();
  FloatVector sums[kTileRows][vectors];
  HWY_UNROLL(8)
  for (int i = 0; i < kTileRows; ++i) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) sums[i][j] = hn::Zero(d);
  }
  for (int64_t tap = 0; tap < taps; ++tap, rows += kTileRows) {
    const float* row[kTileRows];
    HWY_UNROLL(8)
    for (int i = 0; i < kTileRows; ++i) row[i] = rows[i] + depth;
    HWY_UNROLL(4)
    for (int64_t k = -depth; k != 0; ++k, panel += vectors * lanes) {
      FloatVector columns[vectors];
      HWY_UNROLL(3)
      for (int j = 0; j < vectors; ++j) columns[j] = hn::LoadU(d, panel + j * lanes);
      HWY_UNROLL(8)
      for (int i = 0; i < kTileRows; ++i) {
        const FloatVector value = hn::Set(d, row[i][k]);
        HWY_UNROLL(3)
        for (int j = 0; j < vectors; ++j) sums[i][j] = hn::MulAdd(value, columns[j], sums[i][j]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kTileRows; ++i) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) finish(i, j, sums[i][j]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
