// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM: M = output pixels of all frames, N = output channels, K = taps x input channels.
//
// A work item is a block of consecutive pixels times one panel of output channels. It walks K in
// chunks whose weights (about 18 KB at 96 channels) stay in the first-level cache while all tiles
// of the block use them; the block's sums wait in `totals` meanwhile. Chunks depend on the conv's
// channels and taps alone, and each is summed from zero, then added: so a pixel's bits depend on
// neither its block nor its tile, and rounding grows with the chunk and the number of chunks, not
// with K.
//
// Packed weights: panels of kTileVectors vectors (the last may have fewer), each
// (tap, c_in, vectors * lanes), zero beyond c_out.
#include "cpu/kernels/conv3d.h"

#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "base/fail.h"
#include "cpu/kernels/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/conv3d.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "cpu/kernels/multiply_inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef ZOETROPE_CPU_KERNELS_CONV3D_ONCE
#define ZOETROPE_CPU_KERNELS_CONV3D_ONCE
namespace zoetrope::cpu {

// Input channels times taps of a chunk, at most.
constexpr int64_t kChunkDepth = 128;
// Pixels of a work item, at most: a multiple of every kTileRows. With fewer, a chunk's weights are
// fetched from the third-level cache too often where a panel's do not fit the second (384 channels:
// 120 pixels run 10 % slower, 96 channels alike).
constexpr int64_t kBlockPixels = 240;
constexpr int64_t kLineFloats = 16;  // of a cache line

// Read in place of pixels outside the image.
alignas(64) constexpr float kZeros[kChunkDepth] = {};

// What a conv's blocks share.
struct Conv3dBlocks {
  int64_t pixels = 0;          // of all output frames
  int64_t block_pixels = 0;    // of one work item
  int64_t panels = 0;          // of output channels
  int64_t chunk_taps = 1;      // consecutive taps of one input frame in a chunk
  int64_t chunk_channels = 1;  // of each tap; less than c_in only if chunk_taps is 1
};

// Where the tap 0 of a block's output pixels reads.
struct Conv3dOrigins {
  int64_t offset[kBlockPixels];  // from x or, in negative frames, from the history's end, in floats
  int64_t frame[kBlockPixels];   // of x; negative: history
  int64_t row[kBlockPixels];     // may lie outside the image, as may column
  int64_t column[kBlockPixels];
  bool inside[kBlockPixels];  // all taps read pixels of the image
};

// A tap of a chunk, relative to an origin.
struct Conv3dTap {
  int64_t down;
  int64_t right;
  int64_t step;  // in floats
};

// One chunk of K.
struct Conv3dChunk {
  int64_t time = 0;       // tap in time
  int64_t first_tap = 0;  // in (kernel_height, kernel_width)
  int64_t taps = 0;
  int64_t first_channel = 0;
  int64_t channels = 0;
};

inline int64_t divide_up(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

// Splits `count` into the fewest equal parts of at most `limit`, and returns a part's size.
inline int64_t even_part(int64_t count, int64_t limit) {
  return divide_up(count, divide_up(count, std::max<int64_t>(limit, 1)));
}

inline Conv3dBlocks plan_blocks(const Conv3dArgs& args, int64_t panel_channels, int64_t tile_rows,
                                int threads) {
  Conv3dBlocks blocks;
  blocks.pixels = args.frames / args.stride_time * args.out_height * args.out_width;
  blocks.panels = divide_up(args.c_out, panel_channels);
  blocks.chunk_channels = even_part(args.c_in, kChunkDepth);
  blocks.chunk_taps = even_part(args.kernel_height * args.kernel_width, kChunkDepth / args.c_in);
  // Small convs are cut finer, so that all threads finish together.
  const int64_t wanted_items = 4 * int64_t{threads};
  const int64_t share = divide_up(blocks.pixels * blocks.panels, wanted_items);
  const int64_t limit = std::clamp(round_up(share, tile_rows), tile_rows, kBlockPixels);
  blocks.block_pixels = round_up(even_part(std::max<int64_t>(blocks.pixels, 1), limit), tile_rows);
  return blocks;
}

// Fills origins [0, count) for the output pixels from `first` on; those from `pixels` on read
// zeros.
inline void locate(const Conv3dArgs& args, int64_t first, int64_t pixels, int64_t count,
                   Conv3dOrigins& origins) {
  const int64_t last_row = args.height - args.kernel_height;
  const int64_t last_column = args.width - args.kernel_width;
  int64_t out_column = first % args.out_width;
  int64_t line = first / args.out_width;  // of all frames
  int64_t row = line % args.out_height * args.stride_space - args.pad_before;
  int64_t frame = line / args.out_height * args.stride_time - args.kernel_time + args.stride_time;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = out_column * args.stride_space - args.pad_before;
    origins.frame[i] = frame;
    origins.row[i] = first + i < pixels ? row : -args.kernel_height;
    origins.column[i] = column;
    origins.offset[i] = ((frame * args.height + row) * args.width + column) * args.c_in;
    origins.inside[i] =
        origins.row[i] >= 0 && row <= last_row && column >= 0 && column <= last_column;
    if (++out_column < args.out_width) continue;
    out_column = 0;
    row += args.stride_space;
    if (++line % args.out_height != 0) continue;
    row = -args.pad_before;
    frame += args.stride_time;
  }
}

inline void locate_taps(const Conv3dArgs& args, const Conv3dChunk& chunk, Conv3dTap* taps) {
  for (int64_t tap = 0; tap < chunk.taps; ++tap) {
    const int64_t down = (chunk.first_tap + tap) / args.kernel_width;
    const int64_t right = (chunk.first_tap + tap) % args.kernel_width;
    const int64_t line = (chunk.time * args.height + down) * args.width + right;
    taps[tap] = {down, right, line * args.c_in + chunk.first_channel};
  }
}

inline void prefetch_to_second_level(const float* address) { __builtin_prefetch(address, 0, 2); }

inline void check(const Conv3dArgs& args) {
  ZOETROPE_CHECK(args.frames % args.stride_time == 0, std::to_string(args.frames));
  ZOETROPE_CHECK(0 <= args.first_tap && args.first_tap < args.kernel_time,
                 std::to_string(args.first_tap));
  ZOETROPE_CHECK(args.history != nullptr || args.first_tap >= args.kernel_time - args.stride_time,
                 "taps from " + std::to_string(args.first_tap) + " on read a missing history");
}

}  // namespace zoetrope::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace conv3d {

constexpr int64_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// totals[i][j] += sums
template <int vectors>
struct AddTo {
  float* totals;
  HWY_INLINE void operator()(int i, int j, FloatVector sums) const {
    const FloatTag d;
    float* total = totals + (i * vectors + j) * vector_lanes();
    hn::StoreU(hn::Add(hn::LoadU(d, total), sums), d, total);
  }
};

template <int vectors>
class Block {
 public:
  Block(const Conv3dArgs& args, const Conv3dBlocks& blocks, int64_t first_pixel, int64_t panel)
      : args_(args),
        blocks_(blocks),
        first_pixel_(first_pixel),
        pixels_(std::min(blocks.block_pixels, blocks.pixels - first_pixel)),
        tiles_(divide_up(pixels_, kTileRows)),
        first_channel_(panel * kTileVectors * vector_lanes()),
        channels_(std::min(stride_, args.c_out - first_channel_)) {
    const int64_t taps = args.kernel_time * args.kernel_height * args.kernel_width;
    weight_ = args.weight + first_channel_ * taps * args.c_in;
    weight_end_ = weight_ + taps * args.c_in * stride_;
    if (args.history == nullptr) return;
    history_end_ =
        args.history + (args.kernel_time - args.stride_time) * args.height * args.width * args.c_in;
  }

  void run() {
    locate(args_, first_pixel_, blocks_.pixels, tiles_ * kTileRows, origins_);
    start();
    const int64_t taps = args_.kernel_height * args_.kernel_width;
    for (int64_t time = args_.first_tap; time < args_.kernel_time; ++time) {
      for (int64_t tap = 0; tap < taps; tap += blocks_.chunk_taps) {
        for (int64_t channel = 0; channel < args_.c_in; channel += blocks_.chunk_channels) {
          add_chunk({.time = time,
                     .first_tap = tap,
                     .taps = std::min(blocks_.chunk_taps, taps - tap),
                     .first_channel = channel,
                     .channels = std::min(blocks_.chunk_channels, args_.c_in - channel)});
        }
      }
    }
    finish();
  }

 private:
  // Totals begin with the bias. They are never -0 (x + 0 is not), so adding a chunk of zeros (zero
  // pixels, finite weights) and leaving it out is the same.
  void start() {
    alignas(64) float bias[vectors * kMaxLanes] = {};
    for (int64_t c = 0; c < channels_; ++c) {
      bias[c] = (args_.bias == nullptr ? 0.0F : args_.bias[first_channel_ + c]) + 0.0F;
    }
    const FloatTag d;
    for (int64_t i = 0; i < tiles_ * kTileRows; ++i) {
      for (int64_t c = 0; c < stride_; c += lanes_) {
        hn::StoreU(hn::LoadU(d, bias + c), d, totals_ + i * stride_ + c);
      }
    }
  }

  void add_chunk(const Conv3dChunk& chunk) {
    const int64_t tap = chunk.time * args_.kernel_height * args_.kernel_width + chunk.first_tap;
    const float* weight = weight_ + (tap * args_.c_in + chunk.first_channel) * stride_;
    Conv3dTap taps[kChunkDepth];
    locate_taps(args_, chunk, taps);
    const float* next_weight = weight + chunk.taps * chunk.channels * stride_;
    const int64_t ahead = std::min<int64_t>(next_weight - weight, weight_end_ - next_weight);
    const int64_t share = round_up(divide_up(ahead, tiles_), kLineFloats);
    const float* rows[2][kChunkDepth * kTileRows];  // of this tile and the next
    bool inside = tile_rows(chunk, taps, 0, rows[0]);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      // While the tiles use these weights, the next chunk's, which follow them, come nearer.
      for (int64_t i = tile * share; i < std::min((tile + 1) * share, ahead); i += kLineFloats) {
        prefetch_to_second_level(next_weight + i);
      }
      const float** next_rows = rows[(tile + 1) % 2];
      const bool next_inside =
          tile + 1 < tiles_ && tile_rows(chunk, taps, (tile + 1) * kTileRows, next_rows);
      if (next_inside) prefetch_starts(next_rows);
      if (inside) {
        multiply<vectors>(rows[tile % 2], chunk.taps, chunk.channels, weight,
                          AddTo<vectors>{totals_ + tile * kTileRows * stride_});
      }
      inside = next_inside;
    }
  }

  // The first two lines of each row; the processor foresees the rest. All of them at once would
  // stand in the way of the current tile's loads.
  static void prefetch_starts(const float* const* rows) {
    for (int64_t i = 0; i < kTileRows; ++i) {
      hwy::Prefetch(rows[i]);
      hwy::Prefetch(rows[i] + kLineFloats);
    }
  }

  // Fills rows[tap][pixel] for the tile that begins at pixel `first` of the block; returns whether
  // any of them is inside the image.
  bool tile_rows(const Conv3dChunk& chunk, const Conv3dTap* taps, int64_t first,
                 const float** rows) const {
    const int64_t* frame = origins_.frame + first;
    const int64_t* offset = origins_.offset + first;
    const bool all = std::all_of(origins_.inside + first, origins_.inside + first + kTileRows,
                                 [](bool inside) { return inside; });
    bool any = all;
    for (int64_t tap = 0; tap < chunk.taps; ++tap, rows += kTileRows) {
      const auto source = [&](int64_t i) {
        const float* base = frame[i] + chunk.time < 0 ? history_end_ : args_.x;
        return base + (offset[i] + taps[tap].step);
      };
      if (all) {
        for (int64_t i = 0; i < kTileRows; ++i) rows[i] = source(i);
        continue;
      }
      for (int64_t i = 0; i < kTileRows; ++i) {
        const int64_t row = origins_.row[first + i] + taps[tap].down;
        const int64_t column = origins_.column[first + i] + taps[tap].right;
        const bool hit = row >= 0 && row < args_.height && column >= 0 && column < args_.width;
        rows[i] = hit ? source(i) : kZeros;
        any |= hit;
      }
    }
    return any;
  }

  void finish() const {
    const FloatTag d;
    for (int64_t i = 0; i < pixels_; ++i) {
      const float* total = totals_ + i * stride_;
      const int64_t at = (first_pixel_ + i) * args_.c_out + first_channel_;
      int64_t c = 0;
      for (; c + lanes_ <= channels_; c += lanes_) {
        FloatVector value = hn::LoadU(d, total + c);
        if (args_.residual) value = hn::Add(value, hn::LoadU(d, args_.residual + at + c));
        hn::StoreU(value, d, args_.y + at + c);
      }
      for (; c < channels_; ++c) {
        args_.y[at + c] = args_.residual ? total[c] + args_.residual[at + c] : total[c];
      }
    }
  }

  const Conv3dArgs& args_;
  const Conv3dBlocks& blocks_;
  const int64_t lanes_ = vector_lanes();
  const int64_t stride_ = vectors * lanes_;  // channels of the panel, padding included
  const int64_t first_pixel_;
  const int64_t pixels_;
  const int64_t tiles_;
  const int64_t first_channel_;
  const int64_t channels_;
  const float* weight_ = nullptr;
  const float* weight_end_ = nullptr;
  const float* history_end_ = nullptr;
  Conv3dOrigins origins_;
  alignas(64) float totals_[kBlockPixels * vectors * kMaxLanes];
};

void run_item(const Conv3dArgs& args, const Conv3dBlocks& blocks, int64_t item) {
  static_assert(kTileVectors <= 3 && kBlockPixels % kTileRows == 0);
  const int64_t first_pixel = item / blocks.panels * blocks.block_pixels;
  const int64_t panel = item % blocks.panels;
  const int64_t left = divide_up(args.c_out, vector_lanes()) - panel * kTileVectors;
  if (left == 1) {
    Block<1>(args, blocks, first_pixel, panel).run();
  } else if (left == 2 || kTileVectors == 2) {
    Block<2>(args, blocks, first_pixel, panel).run();
  } else {
    Block<kTileVectors>(args, blocks, first_pixel, panel).run();
  }
}

void run(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control) {
  check(args);
  const Conv3dBlocks blocks =
      plan_blocks(args, kTileVectors * vector_lanes(), kTileRows, pool.threads());
  const int64_t items = divide_up(blocks.pixels, blocks.block_pixels) * blocks.panels;
  pool.run(
      items, [&](int64_t item) { run_item(args, blocks, item); }, control);
}

int64_t packed_bytes(int64_t c_out, int64_t c_in, int64_t taps) {
  return round_up(c_out, vector_lanes()) * c_in * taps * static_cast<int64_t>(sizeof(float));
}

void pack(const float* weight, int64_t c_out, int64_t c_in, int64_t taps, std::byte* packed) {
  const int64_t padded = round_up(c_out, vector_lanes());
  const int64_t panel_width = kTileVectors * vector_lanes();
  float* to = reinterpret_cast<float*>(packed);
  for (int64_t first = 0; first < padded; first += panel_width) {
    const int64_t end = std::min(first + panel_width, padded);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t channel = 0; channel < c_in; ++channel) {
        for (int64_t out = first; out < end; ++out) {
          *to++ = out < c_out ? weight[(out * c_in + channel) * taps + tap] : 0.0F;
        }
      }
    }
  }
}

constexpr auto kName = row_name("conv3d_f32_", HWY_STR(HWY_NAMESPACE));

}  // namespace conv3d

constexpr Conv3dKernel kConv3dRow = {.name = conv3d::kName.data(),
                                     .target = HWY_TARGET,
                                     .packed_bytes = conv3d::packed_bytes,
                                     .pack = conv3d::pack,
                                     .run = conv3d::run};

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {

std::span<const Conv3dKernel> conv3d_kernels() {
  static const std::vector<Conv3dKernel> rows = supported_rows<Conv3dKernel>(
      std::to_array<const Conv3dKernel*>(
          {HWY_CHOOSE_TARGET_LIST(kConv3dRow), HWY_CHOOSE_FALLBACK(kConv3dRow)}),
      hwy::SupportedTargets());
  return rows;
}

}  // namespace zoetrope::cpu
#endif
