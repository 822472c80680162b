// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/conv3d_tile.h"

#include <algorithm>
#include <tuple>

#include "base/checked_math.h"
#include "cuda/kernels/hopper.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kOperandBytes = 2;
constexpr int64_t kAlignment = 1024;  // that swizzled boxes need
constexpr int32_t kMostStagesB = 16;

int32_t taps_per_stage(const Conv3dCut& cut) {
  if (cut.filters == 8) return 9;
  return cut.chunk == 64 ? 1 : 3;
}

// As many as fit; three boxes where four stages of weights fit beside them.
void choose_stages(const Conv3dCut& cut, const Conv3dWindow& window, Conv3dTile& tile) {
  const int64_t bytes_a = conv3d_stage_a_bytes(cut, tile, window);
  const int64_t bytes_b = conv3d_stage_b_bytes(cut, tile);
  tile.stages_a = 3 * bytes_a + 4 * bytes_b <= kConv3dStageBytes ? 3 : 2;
  tile.stages_b = static_cast<int32_t>(
      std::min<int64_t>((kConv3dStageBytes - tile.stages_a * bytes_a) / bytes_b, kMostStagesB));
}

int64_t tiles_of(const Conv3dTile& tile, const Conv3dGrid& grid) {
  return grid.frames * divide_up(grid.height, tile.blocks_y * kSide) *
         divide_up(grid.width, tile.blocks_x * kSide);
}

// Half as many where all of the whole tiles would leave half of the device idle.
int32_t blocks_of(const Conv3dCut& cut, const Conv3dGrid& grid) {
  const Conv3dTile whole = {.blocks_x = 2, .blocks_y = cut.blocks() / 2};
  const bool small =
      cut.cluster == 2 && tiles_of(whole, grid) * 2 * cut.cluster <= kHopperProcessors;
  return small ? cut.blocks() / 2 : cut.blocks();
}

}  // namespace

Conv3dCut conv3d_cut(const Conv3dFilters& of) {
  const bool pictures = of.c_in <= 8 && of.kernel_width > 1 && of.kernel_width <= 4;
  if (of.filters == 96 && pictures && of.stride_space == 1) {
    return {.filters = 96, .chunk = 8, .fold = 4};
  }
  if (of.filters == 96) return {.filters = 96, .chunk = 32};
  if (of.filters <= 8) return {.filters = 8, .chunk = 32};
  // Of 96 channels, three chunks of 32 leave nothing to fill with zeros.
  const bool narrow = divide_up(of.c_in, 32) % 2 == 1;
  if (of.filters == 192) return {.filters = 192, .chunk = narrow ? 32 : 64};
  if (of.filters == 384) return {.filters = 192, .cluster = 2, .chunk = 64};
  return {};
}

int64_t conv3d_stage_a_bytes(const Conv3dCut& cut, const Conv3dTile& tile,
                             const Conv3dWindow& window) {
  const int64_t pixels = (tile.blocks_x * kSide + window.kernel_width - 1) *
                         (tile.blocks_y * kSide + window.kernel_height - 1);
  return divide_up(pixels * cut.chunk * kOperandBytes, kAlignment) * kAlignment;
}

int64_t conv3d_stage_b_bytes(const Conv3dCut& cut, const Conv3dTile& tile) {
  return int64_t{tile.taps_per_stage} * cut.filters * cut.depth() * kOperandBytes;
}

// The fewest tiles of so many blocks, then the smallest halo.
Conv3dTile conv3d_tile(const Conv3dCut& cut, const Conv3dGrid& grid, const Conv3dWindow& window) {
  const int32_t blocks = blocks_of(cut, grid);
  Conv3dTile best;
  std::tuple<int64_t, int64_t> best_cost;
  for (int32_t x = 1; x <= blocks; x *= 2) {
    Conv3dTile tile = {
        .blocks_x = x, .blocks_y = blocks / x, .taps_per_stage = taps_per_stage(cut)};
    choose_stages(cut, window, tile);
    const std::tuple cost(tiles_of(tile, grid), conv3d_stage_a_bytes(cut, tile, window));
    if (best.blocks_x != 0 && best_cost <= cost) continue;
    best_cost = cost;
    best = tile;
  }
  return best;
}

}  // namespace zoetrope::cuda
