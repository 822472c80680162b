// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/conv3d_blocks.h"

#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

constexpr int64_t kLineFloats = kLineBytes / sizeof(float);

// Splits `count` into the fewest equal parts of at most `limit`, and returns a part's size.
int64_t even_part(int64_t count, int64_t limit) {
  return divide_up(count, divide_up(count, std::max<int64_t>(limit, 1)));
}

int64_t channels_of_chunk(int64_t channels, const Conv3dTile& tile) {
  return round_up(even_part(channels, tile.chunk_depth), tile.group);
}

// Pixels of an item whose sums take `channels` each, at most: whole tiles.
int64_t most_pixels(int64_t channels, const Conv3dTile& tile) {
  const int64_t most = std::min(kBlockPixels, kBlockSums / channels / tile.rows * tile.rows);
  return std::max(most, tile.rows);
}

// All but what a video's size decides.
WinogradBlocks winograd_channels(const Conv3dArgs& args, int64_t frames, const Conv3dTile& tile) {
  WinogradBlocks blocks;
  blocks.frames = frames;
  blocks.panels = divide_up(args.c_out, tile.panel_channels);
  blocks.panel_channels = tile.panel_channels;
  blocks.chunk_channels = channels_of_chunk(args.c_in, tile);
  if (args.shortcut != nullptr) {
    blocks.shortcut_channels = channels_of_chunk(args.c_shortcut, tile);
  }
  blocks.lanes = tile.lanes;
  return blocks;
}

// 2x2 pixels of an item, at most.
int64_t most_tiles(WinogradBlocks blocks) {
  blocks.block_tiles = 1;
  const int64_t floats_of_tile =
      16 * (blocks.panels * blocks.panel_channels + blocks.chunk_channels) + blocks.totals();
  return std::max(kWinogradFloats / floats_of_tile, kWinogradTiles);
}

int64_t parts_of(Conv3dStore store) {
  switch (store) {
    case Conv3dStore::kPlain:
      return 1;
    case Conv3dStore::kFrameInterleave:
      return 2;
    case Conv3dStore::kUpsamplePhases:
      return 4;
  }
  fail(ErrorCode::kInternal, "conv3d: unknown store {}", static_cast<int>(store));
}

// The pixel of y that is (frame, row, column) of a part's grid.
int64_t output_pixel(const Conv3dArgs& args, int64_t part, int64_t frame, int64_t row,
                     int64_t column) {
  if (args.store == Conv3dStore::kFrameInterleave) frame = 2 * frame + part;
  if (args.store == Conv3dStore::kUpsamplePhases) {
    row = 2 * row + part / 2;
    column = 2 * column + part % 2;
  }
  return (frame * args.out_height + row) * args.out_width + column;
}

}  // namespace

void check_conv3d(const Conv3dArgs& args) {
  ZOETROPE_CHECK(args.frames % args.stride_time == 0, std::to_string(args.frames));
  ZOETROPE_CHECK(0 <= args.first_tap && args.first_tap < args.kernel_time,
                 std::to_string(args.first_tap));
  ZOETROPE_CHECK(args.history != nullptr || args.first_tap >= args.kernel_time - args.stride_time,
                 "taps from " + std::to_string(args.first_tap) + " on read a missing history");
  ZOETROPE_CHECK(args.y != nullptr || args.activated != nullptr, "no output");
  ZOETROPE_CHECK((args.gamma != nullptr) == (args.activated != nullptr),
                 "gamma and activated go together");
  ZOETROPE_CHECK(args.shortcut == nullptr || args.store == Conv3dStore::kPlain,
                 "a shortcut where results are interleaved");
  ZOETROPE_CHECK(args.store != Conv3dStore::kUpsamplePhases ||
                     (args.stride_space == 1 && args.out_height == 2 * args.height &&
                      args.out_width == 2 * args.width),
                 "phases do not give twice the input's size");
}

// A norm, which waits for all of a pixel's sums, takes most.
int64_t conv3d_scratch(const Conv3dArgs& args, const Conv3dTile& tile) {
  const int64_t channels = round_up(args.c_out, tile.panel_channels);
  const int64_t with_norm = most_pixels(channels, tile) * channels;
  const int64_t without = most_pixels(tile.panel_channels, tile) * tile.panel_channels;
  return round_up(std::max(with_norm, without), kLineFloats);
}

int64_t rgb_scratch(const Conv3dArgs& args, const Conv3dTile& tile) {
  Conv3dArgs widest = args;
  widest.width = kBlockPixels;
  widest.first_tap = 0;
  return round_up(plan_rgb(widest, tile).floats(), kLineFloats);
}

int64_t winograd_scratch(const Conv3dArgs& args, int64_t frames, const Conv3dTile& tile) {
  WinogradBlocks blocks = winograd_channels(args, frames, tile);
  blocks.block_tiles = round_up(most_tiles(blocks), tile.rows);
  return round_up(blocks.floats(), kLineFloats);
}

Conv3dBlocks plan_conv3d(const Conv3dArgs& args, const Conv3dTile& tile, int threads) {
  const int64_t phases = args.store == Conv3dStore::kUpsamplePhases ? 2 : 1;
  Conv3dBlocks blocks;
  blocks.grid_height = args.out_height / phases;
  blocks.grid_width = args.out_width / phases;
  blocks.pixels = args.frames / args.stride_time * blocks.grid_height * blocks.grid_width;
  blocks.parts = parts_of(args.store);
  blocks.panels = divide_up(args.c_out, tile.panel_channels);
  blocks.item_panels = args.gamma == nullptr ? 1 : blocks.panels;
  blocks.chunk_channels = channels_of_chunk(args.c_in, tile);
  const int64_t taps = std::min(tile.chunk_depth / args.c_in, kChunkTaps);
  blocks.chunk_taps = even_part(args.kernel_height * args.kernel_width, taps);
  if (args.shortcut != nullptr) {
    blocks.shortcut_channels = channels_of_chunk(args.c_shortcut, tile);
  }
  // Small convs are cut finer, so that all threads finish together.
  const int64_t wanted_items = 4 * int64_t{threads};
  const int64_t items_of_block = blocks.parts * (blocks.panels / blocks.item_panels);
  const int64_t share = divide_up(blocks.pixels * items_of_block, wanted_items);
  const int64_t most = most_pixels(blocks.item_panels * tile.panel_channels, tile);
  const int64_t limit = std::clamp(round_up(share, tile.rows), tile.rows, most);
  blocks.block_pixels = round_up(even_part(std::max<int64_t>(blocks.pixels, 1), limit), tile.rows);
  return blocks;
}

namespace {

bool is_plain_3x3(const Conv3dArgs& args) {
  return args.kernel_height == 3 && args.kernel_width == 3 && args.stride_space == 1 &&
         args.pad_before == 1 && args.stride_time == 1;
}

constexpr const char* kNotPlain3x3 = "only for 3x3 taps, one step apart, with a border of one";

}  // namespace

std::string rgb_refusal(const Conv3dArgs& args) {
  if (args.c_in != kRgbChannels) return "only for three input channels";
  if (!is_plain_3x3(args)) return kNotPlain3x3;
  return args.store == Conv3dStore::kPlain ? "" : "results are interleaved";
}

RgbBlocks plan_rgb(const Conv3dArgs& args, const Conv3dTile& tile) {
  RgbBlocks blocks;
  blocks.pixels = round_up(even_part(args.width, kBlockPixels), tile.rows);
  blocks.pieces = divide_up(args.width, blocks.pixels);
  blocks.items = args.frames * args.height * blocks.pieces;
  blocks.lines = 3 * (args.kernel_time - args.first_tap);
  blocks.tile_rows = tile.rows;
  blocks.panels = divide_up(args.c_out, tile.panel_channels);
  blocks.panel_channels = tile.panel_channels;
  blocks.channels = blocks.panels * tile.panel_channels;
  if (args.shortcut != nullptr) {
    blocks.shortcut_channels = channels_of_chunk(args.c_shortcut, tile);
  }
  return blocks;
}

std::string winograd_refusal(const Conv3dArgs& args) {
  if (!is_plain_3x3(args)) return kNotPlain3x3;
  if (args.store != Conv3dStore::kPlain) return "results are interleaved";
  constexpr int64_t kLeast = 8;
  constexpr int64_t kMost = 1024;
  if (args.c_in < kLeast) return "too few input channels to pay for the transforms";
  if (args.c_out > kMost) return "too many output channels for the cache";
  return "";
}

std::string winograd_time_refusal(const Conv3dArgs& args) {
  const std::string reason = winograd_refusal(args);
  if (!reason.empty()) return reason;
  if (args.kernel_time != 3 || args.first_tap != 0) return "only for three taps in time";
  return args.frames % 2 == 0 ? "" : "frames do not come in pairs";
}

int64_t WinogradBlocks::pixels() const {
  const int64_t read = 16 * round_up(chunk_channels, lanes);
  const int64_t made = frames == 1 ? 4 * panels * panel_channels : 0;
  return block_tiles * std::max(read, made);
}

int64_t WinogradBlocks::totals() const {
  return frames == 1 ? 0 : 4 * frames * block_tiles * panels * panel_channels;
}

WinogradBlocks plan_winograd(const Conv3dArgs& args, int64_t frames, const Conv3dTile& tile,
                             int threads) {
  WinogradBlocks blocks = winograd_channels(args, frames, tile);
  blocks.tiles_high = divide_up(args.height, 2);
  blocks.tiles_wide = divide_up(args.width, 2);
  blocks.tiles = args.frames / frames * blocks.tiles_high * blocks.tiles_wide;
  // Small convs are cut finer, so that all threads finish together.
  const int64_t share = divide_up(blocks.tiles, 4 * int64_t{threads});
  const int64_t limit = std::min(std::max(share, kLeastWinogradTiles), most_tiles(blocks));
  blocks.block_tiles = round_up(even_part(std::max<int64_t>(blocks.tiles, 1), limit), tile.rows);
  return blocks;
}

Conv3dItem conv3d_item(const Conv3dBlocks& blocks, int64_t index) {
  const int64_t panel_items = blocks.panels / blocks.item_panels;
  const int64_t first_pixel = index / (panel_items * blocks.parts) * blocks.block_pixels;
  return {.part = index / panel_items % blocks.parts,
          .first_pixel = first_pixel,
          .pixels = std::min(blocks.block_pixels, blocks.pixels - first_pixel),
          .first_panel = index % panel_items};
}

void locate_conv3d(const Conv3dArgs& args, const Conv3dBlocks& blocks, const Conv3dItem& item,
                   int64_t count, Conv3dOrigins& origins) {
  const bool phases = args.store == Conv3dStore::kUpsamplePhases;
  const int64_t above = args.pad_before - (phases ? item.part / 2 : 0);
  const int64_t left = args.pad_before - (phases ? item.part % 2 : 0);
  int64_t grid_column = item.first_pixel % blocks.grid_width;
  int64_t grid_row = item.first_pixel / blocks.grid_width % blocks.grid_height;
  int64_t grid_frame = item.first_pixel / blocks.grid_width / blocks.grid_height;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t frame = (grid_frame + 1) * args.stride_time - args.kernel_time;
    const int64_t row = grid_row * args.stride_space - above;
    const int64_t column = grid_column * args.stride_space - left;
    const bool exists = i < item.pixels;
    origins.output[i] = output_pixel(args, item.part, grid_frame, grid_row, grid_column);
    origins.offset[i] = ((frame * args.height + row) * args.width + column) * args.c_in;
    origins.frame[i] = frame;
    origins.row[i] = exists ? row : -args.kernel_height;
    origins.column[i] = column;
    origins.inside[i] = exists && row >= 0 && row <= args.height - args.kernel_height &&
                        column >= 0 && column <= args.width - args.kernel_width;
    if (++grid_column < blocks.grid_width) continue;
    grid_column = 0;
    if (++grid_row < blocks.grid_height) continue;
    grid_row = 0;
    ++grid_frame;
  }
}

void locate_taps(const Conv3dArgs& args, const Conv3dChunk& chunk, Conv3dTap* taps) {
  for (int64_t tap = 0; tap < chunk.taps; ++tap) {
    const int64_t down = (chunk.first_tap + tap) / args.kernel_width;
    const int64_t right = (chunk.first_tap + tap) % args.kernel_width;
    const int64_t line = (chunk.time * args.height + down) * args.width + right;
    taps[tap] = {down, right, line * args.c_in + chunk.first_channel};
  }
}

}  // namespace zoetrope::cpu
