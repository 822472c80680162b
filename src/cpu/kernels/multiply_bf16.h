// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by AVX-512 BF16, in a file built for it: only where multiplies_bf16() may
// the rest be called.
// multiply_bf16.cc includes nothing whose inline functions other files share, since the linker
// would keep one copy of each, perhaps the one that other processors cannot run.
#pragma once

#include <cstdint>

namespace zoetrope::cpu {

// Whether this processor has the instructions.
bool multiplies_bf16();

// Whether they are faster than float32's on expanded operands. Those of Intel's Golden Cove and
// later start one vector of pairs every two clocks (measured on model 207), where float32 starts
// four vectors; others start two a clock.
bool multiplies_bf16_well();

// Tile of multiply_bf16: pixels, and float32 lanes of a vector.
inline constexpr int kBf16TileRows = 8;
inline constexpr int kBf16Lanes = 16;

// totals[i][j] += sum over tap, k of rows[tap * kBf16TileRows + i][k] * panel[tap][k][j], the
// sum from zero, in the order of taps, then k, in float32; values below the smallest normal float
// count as zero.
// rows: bfloat16, `depth` of each are read. panel: bfloat16 (taps, (depth + 1) / 2, width, 2), two
// consecutive k side by side, zero beyond depth. width = vectors * kBf16Lanes, vectors <= 3.
// totals: (kBf16TileRows, width)
void multiply_bf16(const uint16_t* const* rows, int64_t taps, int64_t depth, const uint16_t* panel,
                   int vectors, float* totals);

// `rounds` rounds of independent products and sums in registers; returns how many it made, counted
// as two for each product.
double multiply_bf16_in_registers(int64_t rounds);

}  // namespace zoetrope::cpu
