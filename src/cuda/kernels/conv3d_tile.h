// SPDX-License-Identifier: Apache-2.0
// How a Hopper conv divides its outputs among blocks, and its shared memory among stages: pure
// functions of the shape, which change no result.
#pragma once

#include <cstdint>

namespace zoetrope::cuda {

// What filters and input channels of one part are cut into.
struct Conv3dCut {
  int32_t filters = 0;  // of one block: 8, 96 or 192
  int32_t cluster = 1;  // blocks that share a tile, each with its own filters
  int32_t chunk = 0;    // input channels of a pixel in shared memory
  int32_t fold = 1;  // neighbouring pixels, so many taps, that are one row of a product's operand
  int32_t blocks() const { return filters == 192 ? 4 : 8; }  // 8x8 pixels each, in a tile at most
  int32_t depth() const { return chunk * fold; }             // of a tap's products
};

// What decides the cut: filters of one part, and how they are laid over the input.
struct Conv3dFilters {
  int64_t filters = 0;
  int64_t c_in = 0;
  int64_t kernel_width = 1;
  int64_t stride_space = 1;
};

// `filters` of the result is 0 if there is none.
Conv3dCut conv3d_cut(const Conv3dFilters& of);

struct Conv3dTile {
  int32_t blocks_x = 0;
  int32_t blocks_y = 0;
  int32_t stages_a = 0;
  int32_t stages_b = 0;
  int32_t taps_per_stage = 0;

  bool operator==(const Conv3dTile&) const = default;
};

// Operands of a plane, in pixels: what windows of kernel_height x kernel_width touch from a tile.
struct Conv3dWindow {
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
};

// Shared memory for the stages.
int64_t conv3d_stage_a_bytes(const Conv3dCut& cut, const Conv3dTile& tile,
                             const Conv3dWindow& window);
int64_t conv3d_stage_b_bytes(const Conv3dCut& cut, const Conv3dTile& tile);

inline constexpr int64_t kConv3dSharedBytes = 227 << 10;  // all that a block can have
inline constexpr int64_t kConv3dStageBytes = 223 << 10;   // of them

// What is cut into tiles: output pixels, before the store map; a frame of each part.
struct Conv3dGrid {
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
};

Conv3dTile conv3d_tile(const Conv3dCut& cut, const Conv3dGrid& grid, const Conv3dWindow& window);

}  // namespace zoetrope::cuda
