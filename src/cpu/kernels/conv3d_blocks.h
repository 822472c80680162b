// SPDX-License-Identifier: Apache-2.0
// How a conv is cut into work items and chunks, and where they read and write: what is the same
// for all types and instruction sets.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/kernels/conv3d.h"

namespace zoetrope::cpu {

// Pixels of a work item, at most: a multiple of every tile's rows. With fewer, a chunk's weights
// are fetched from the third-level cache too often where a panel's do not fit the second (384
// channels: 120 pixels run 10 % slower, 96 channels alike).
inline constexpr int64_t kBlockPixels = 240;
// Sums that wait for a norm, at most, in floats: half of a second-level cache of 1 MiB.
inline constexpr int64_t kBlockSums = 131072;
// Sums and pixels of a Winograd item, at most, in floats, unless that leaves fewer tiles than
// kWinogradTiles: most of a second-level cache of 2 MiB, which the weights share. Transforming a
// panel's weights takes the time of a few tiles' products, so too few tiles cost more than sums
// beyond the cache; small convs are cut down to kLeastWinogradTiles.
inline constexpr int64_t kWinogradFloats = 294912;
inline constexpr int64_t kWinogradTiles = 64;
inline constexpr int64_t kLeastWinogradTiles = 32;
// Taps of a chunk, at most.
inline constexpr int64_t kChunkTaps = 32;

inline constexpr int64_t kLineBytes = 64;  // of a cache

inline void prefetch_to_second_level(const void* address) { __builtin_prefetch(address, 0, 2); }

// What a kernel's registers and caches hold.
struct Conv3dTile {
  int64_t rows = 0;            // pixels
  int64_t lanes = 0;           // channels of a vector
  int64_t panel_channels = 0;  // of all its vectors
  int64_t chunk_depth = 0;     // input channels times taps of a chunk, at most
  int64_t group = 1;           // input channels that are packed side by side
};

// What a conv's work items share. A part is a conv with filters and outputs of its own over the
// same input; a plain conv has one. Items are numbered by block of pixels, then part, then panel.
struct Conv3dBlocks {
  int64_t grid_height = 0;  // output pixels of a part in a frame
  int64_t grid_width = 0;
  int64_t pixels = 0;        // output pixels of a part in all frames
  int64_t block_pixels = 0;  // of a work item
  int64_t parts = 1;
  int64_t panels = 0;             // of a part's filters
  int64_t item_panels = 1;        // all of them if a norm needs all of a pixel's channels
  int64_t chunk_taps = 1;         // consecutive taps of one input frame in a chunk
  int64_t chunk_channels = 1;     // of each tap; less than c_in only if chunk_taps is 1
  int64_t shortcut_channels = 1;  // of a chunk of the shortcut

  int64_t items() const {
    return (pixels + block_pixels - 1) / block_pixels * parts * (panels / item_panels);
  }
};

// How a conv by Winograd's F(2x2, 3x3) is cut: items are blocks of 2x2 output pixels, "tiles", with
// all output channels; by F(2x2x2, 3x3x3) of two frames of them.
struct WinogradBlocks {
  int64_t frames = 1;      // of a tile
  int64_t tiles_high = 0;  // of a frame
  int64_t tiles_wide = 0;
  int64_t tiles = 0;        // of all frames
  int64_t block_tiles = 0;  // of a work item
  int64_t panels = 0;
  int64_t panel_channels = 0;
  int64_t chunk_channels = 1;
  int64_t shortcut_channels = 1;  // of a chunk of the shortcut
  int64_t lanes = 0;

  int64_t items() const { return (tiles + block_tiles - 1) / block_tiles; }

  // Floats of an item's memory, in all and of its parts.
  int64_t sums() const { return 16 * block_tiles * panels * panel_channels; }
  int64_t weights() const { return 16 * chunk_channels * panel_channels; }
  int64_t pixels() const;  // read, or later, with tiles of one frame, made
  int64_t totals() const;  // made, with tiles of two
  int64_t floats() const { return sums() + weights() + pixels() + totals(); }
};

// Channels of convs that walk a line's values and not its taps.
inline constexpr int64_t kRgbChannels = 3;

// How such a conv is cut: items are pieces of an output line, with all output channels.
struct RgbBlocks {
  int64_t pieces = 0;  // of a line
  int64_t pixels = 0;  // of a piece: whole tiles
  int64_t items = 0;
  int64_t lines = 0;  // that a piece reads
  int64_t tile_rows = 0;
  int64_t panels = 0;
  int64_t panel_channels = 0;
  int64_t channels = 0;           // of all panels
  int64_t shortcut_channels = 1;  // of a chunk of the shortcut

  // Floats of an item's memory, in all and of its parts.
  int64_t step() const { return (pixels + 2) * kRgbChannels; }  // from line to line
  int64_t totals() const { return tile_rows * channels; }
  int64_t weights() const { return lines * 3 * kRgbChannels * channels; }
  int64_t floats() const { return totals() + channels + weights() + lines * step(); }
};

struct Conv3dItem {
  int64_t part = 0;
  int64_t first_pixel = 0;  // of the part
  int64_t pixels = 0;
  int64_t first_panel = 0;
};

// Where an item's output pixels are, and where their tap 0 reads.
struct Conv3dOrigins {
  int64_t output[kBlockPixels];  // pixel of y
  int64_t offset[kBlockPixels];  // from x or, in negative frames, from the history's end, in
                                 // elements
  int64_t frame[kBlockPixels];   // of x; negative: history
  int64_t row[kBlockPixels];     // may lie outside the image, as may column
  int64_t column[kBlockPixels];
  bool inside[kBlockPixels];  // all taps read pixels of the image
};

// One chunk of the sum.
struct Conv3dChunk {
  int64_t time = 0;       // tap in time
  int64_t first_tap = 0;  // in (kernel_height, kernel_width)
  int64_t taps = 0;
  int64_t first_channel = 0;
  int64_t channels = 0;
};

// A tap of a chunk, relative to an origin.
struct Conv3dTap {
  int64_t down = 0;
  int64_t right = 0;
  int64_t step = 0;  // in elements
};

// Throws kInternal if the arguments contradict each other.
void check_conv3d(const Conv3dArgs& args);

// Conv3dKernel::scratch_floats.
int64_t conv3d_scratch(const Conv3dArgs& args, const Conv3dTile& tile);
int64_t rgb_scratch(const Conv3dArgs& args, const Conv3dTile& tile);
int64_t winograd_scratch(const Conv3dArgs& args, int64_t frames, const Conv3dTile& tile);

Conv3dBlocks plan_conv3d(const Conv3dArgs& args, const Conv3dTile& tile, int threads);

// Why a conv cannot run by Winograd's F(2x2, 3x3), or empty. Reads what Conv3dKernel::refusal does.
std::string winograd_refusal(const Conv3dArgs& args);

// The same for F(2x2x2, 3x3x3).
std::string winograd_time_refusal(const Conv3dArgs& args);

// frames: of a tile.
WinogradBlocks plan_winograd(const Conv3dArgs& args, int64_t frames, const Conv3dTile& tile,
                             int threads);

// Why a conv cannot be cut into RgbBlocks, or empty. Reads what Conv3dKernel::refusal does.
std::string rgb_refusal(const Conv3dArgs& args);

RgbBlocks plan_rgb(const Conv3dArgs& args, const Conv3dTile& tile);

Conv3dItem conv3d_item(const Conv3dBlocks& blocks, int64_t index);

// Fills [0, count), count >= item.pixels, where those from item.pixels on read zeros.
void locate_conv3d(const Conv3dArgs& args, const Conv3dBlocks& blocks, const Conv3dItem& item,
                   int64_t count, Conv3dOrigins& origins);

// Fills taps [0, chunk.taps).
void locate_taps(const Conv3dArgs& args, const Conv3dChunk& chunk, Conv3dTap* taps);

}  // namespace zoetrope::cpu
