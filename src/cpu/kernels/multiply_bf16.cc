// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/multiply_bf16.h"

#include <immintrin.h>

#include <cstddef>

namespace zoetrope::cpu {
namespace {

// A pair of bfloat16 in each lane.
inline __m512bh pairs(__m512i bits) { return (__m512bh)bits; }

// sums[i][j] += values[i] * one step of the panel: 11 loads for 24 products of pairs, of which the
// processor starts two a clock.
template <int vectors, class ValueOf>
[[gnu::always_inline]] inline void add_step(__m512 (&sums)[kBf16TileRows][vectors],
                                            const uint16_t* panel, const ValueOf& value_of) {
  __m512bh columns[vectors];
#pragma GCC unroll 3
  for (int j = 0; j < vectors; ++j) {
    columns[j] = pairs(_mm512_loadu_si512(panel + ptrdiff_t{j} * 2 * kBf16Lanes));
  }
#pragma GCC unroll 8
  for (int i = 0; i < kBf16TileRows; ++i) {
    const __m512bh value = pairs(_mm512_set1_epi32(value_of(i)));
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) {
      sums[i][j] = _mm512_dpbf16_ps(sums[i][j], value, columns[j]);
    }
  }
}

template <int vectors>
void multiply(const uint16_t* const* rows, int64_t taps, int64_t depth, const uint16_t* panel,
              float* totals) {
  constexpr int kStep = vectors * 2 * kBf16Lanes;
  __m512 sums[kBf16TileRows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < kBf16TileRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  const int64_t even = depth / 2 * 2;
  for (int64_t tap = 0; tap < taps; ++tap, rows += kBf16TileRows) {
    const uint16_t* row[kBf16TileRows];
#pragma GCC unroll 8
    for (int i = 0; i < kBf16TileRows; ++i) row[i] = rows[i] + even;
    for (int64_t k = -even; k != 0; k += 2, panel += kStep) {
      add_step<vectors>(
          sums, panel, [&](int i) __attribute__((always_inline)) {
            int pair;
            __builtin_memcpy(&pair, row[i] + k, sizeof(pair));
            return pair;
          });
    }
    if (even == depth) continue;
    add_step<vectors>(
        sums,
        panel, [&](int i) __attribute__((always_inline)) { return static_cast<int>(*row[i]); });
    panel += kStep;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kBf16TileRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j, totals += kBf16Lanes) {
      _mm512_storeu_ps(totals, _mm512_add_ps(_mm512_loadu_ps(totals), sums[i][j]));
    }
  }
}

}  // namespace

void multiply_bf16(const uint16_t* const* rows, int64_t taps, int64_t depth, const uint16_t* panel,
                   int vectors, float* totals) {
  switch (vectors) {
    case 1:
      return multiply<1>(rows, taps, depth, panel, totals);
    case 2:
      return multiply<2>(rows, taps, depth, panel, totals);
    default:
      return multiply<3>(rows, taps, depth, panel, totals);
  }
}

double multiply_bf16_in_registers(int64_t rounds) {
  constexpr int kSums = 24;  // as many as the convs' tile
  const __m512bh one = pairs(_mm512_set1_epi32(0x3f803f80));
  __m512 sums[kSums];
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], one, one);
  }
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) asm volatile("" : : "v"(sums[i]));  // keeps the loop
  return 4.0 * kSums * kBf16Lanes * static_cast<double>(rounds);
}

}  // namespace zoetrope::cpu
