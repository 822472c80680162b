// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM: M = output pixels of all frames, N = output channels, K = taps x input channels.
//
// A work item is a block of consecutive pixels times one panel of output channels, or all of them
// if a norm follows. For each panel it walks K in chunks whose weights (about 18 KB at 96 channels)
// stay in the first-level cache while all tiles of the block use them; the block's sums wait in
// `sums` meanwhile. Chunks depend on the conv's channels and taps alone, and each is summed from
// zero, then added: so a pixel's bits depend on neither its block nor its tile, and rounding grows
// with the chunk and the number of chunks, not with K.
//
// Packed weights are as conv3d_pack.cc says.
#include "cpu/kernels/conv3d.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "cpu/kernels/conv3d_blocks.h"
#include "cpu/kernels/multiply_bf16.h"
#include "cpu/kernels/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/conv3d.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "cpu/kernels/conv3d_epilogue_inl.h"
#include "cpu/kernels/conv3d_products_inl.h"
#include "cpu/kernels/conv3d_rgb_inl.h"
#include "cpu/kernels/conv3d_winograd_inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef ZOETROPE_CPU_KERNELS_CONV3D_ONCE
#define ZOETROPE_CPU_KERNELS_CONV3D_ONCE

namespace zoetrope::cpu {

inline std::string no_refusal(const Conv3dArgs& /*args*/) { return ""; }

// A part of the scratch for each item that is under way.
class Scratch {
 public:
  Scratch(float* data, int64_t floats, int count) {
    ZOETROPE_CHECK(data != nullptr, "no scratch");
    for (int64_t i = 0; i < count; ++i) free_.push_back(data + i * floats);
  }

  float* take() {
    const std::lock_guard lock(mutex_);
    float* part = free_.back();
    free_.pop_back();
    return part;
  }

  void give_back(float* part) {
    const std::lock_guard lock(mutex_);
    free_.push_back(part);
  }

 private:
  std::mutex mutex_;
  std::vector<float*> free_;
};

}  // namespace zoetrope::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace conv3d {

// Sums of one item and panel.
template <class Operands, int vectors>
class Block {
 public:
  using T = typename Operands::Stored;
  static constexpr int64_t kGroup = Operands::kGroup;

  // totals: (tiles * kTileRows, vectors * lanes)
  Block(const Conv3dArgs& args, const Conv3dBlocks& blocks, const Conv3dOrigins& origins,
        const Conv3dItem& item, float* totals)
      : args_(args),
        blocks_(blocks),
        origins_(origins),
        item_(item),
        tiles_(divide_up(item.pixels, kTileRows)),
        totals_(totals) {
    if (args.history == nullptr) return;
    const int64_t frames = args.kernel_time - args.stride_time;
    history_end_ =
        static_cast<const T*>(args.history) + frames * args.height * args.width * args.c_in;
  }

  void run(int64_t panel) {
    const int64_t first_channel = panel * kTileVectors * vector_lanes();
    start(first_channel);
    add_taps(first_channel);
    if (args_.shortcut != nullptr) add_shortcut(first_channel);
  }

 private:
  // Weights of a chunk, and where those that follow them end.
  struct Weights {
    const T* first;
    const T* end;
  };

  // Totals begin with the bias. They are never -0 (x + 0 is not), so adding a chunk of zeros (zero
  // pixels, finite weights) and leaving it out is the same.
  void start(int64_t first_channel) {
    const bool own_biases = args_.store == Conv3dStore::kFrameInterleave;
    const int64_t first_bias = first_channel + (own_biases ? item_.part * args_.c_out : 0);
    const int64_t channels = std::min(stride_, args_.c_out - first_channel);
    alignas(64) float bias[vectors * kMaxLanes] = {};
    for (int64_t c = 0; c < channels; ++c) {
      bias[c] = (args_.bias == nullptr ? 0.0F : args_.bias[first_bias + c]) + 0.0F;
    }
    const FloatTag d;
    for (int64_t i = 0; i < tiles_ * kTileRows; ++i) {
      for (int64_t c = 0; c < stride_; c += lanes_) {
        hn::StoreU(hn::LoadU(d, bias + c), d, totals_ + i * stride_ + c);
      }
    }
  }

  void add_taps(int64_t first_channel) {
    const int64_t taps = args_.kernel_height * args_.kernel_width;
    const int64_t depth = round_up(args_.c_in, kGroup);  // of a tap
    const int64_t filters = round_up(args_.c_out, lanes_);
    const T* panel = static_cast<const T*>(args_.weight) +
                     (item_.part * filters + first_channel) * args_.kernel_time * taps * depth;
    const T* end = panel + args_.kernel_time * taps * depth * stride_;
    for (int64_t time = args_.first_tap; time < args_.kernel_time; ++time) {
      for (int64_t tap = 0; tap < taps; tap += blocks_.chunk_taps) {
        for (int64_t channel = 0; channel < args_.c_in; channel += blocks_.chunk_channels) {
          const Conv3dChunk chunk = {
              .time = time,
              .first_tap = tap,
              .taps = std::min(blocks_.chunk_taps, taps - tap),
              .first_channel = channel,
              .channels = std::min(blocks_.chunk_channels, args_.c_in - channel)};
          const int64_t at = ((time * taps + tap) * depth + channel) * stride_;
          Conv3dTap steps[kChunkTaps];
          locate_taps(args_, chunk, steps);
          add_chunk(chunk, {panel + at, end}, [&](int64_t first, const T** rows) {
            return rows_of_taps(chunk, steps, first, rows);
          });
        }
      }
    }
  }

  void add_shortcut(int64_t first_channel) {
    const int64_t depth = round_up(args_.c_shortcut, kGroup);
    const T* panel = static_cast<const T*>(args_.shortcut_weight) + first_channel * depth;
    const T* end = panel + depth * stride_;
    for (int64_t channel = 0; channel < args_.c_shortcut; channel += blocks_.shortcut_channels) {
      const Conv3dChunk chunk = {
          .taps = 1,
          .first_channel = channel,
          .channels = std::min(blocks_.shortcut_channels, args_.c_shortcut - channel)};
      add_chunk(chunk, {panel + channel * stride_, end}, [&](int64_t first, const T** rows) {
        return rows_of_shortcut(channel, first, rows);
      });
    }
  }

  // rows_of(first, rows) fills rows[tap][pixel] for the tile that begins at pixel `first` of the
  // block; returns whether any of them is not zero.
  template <class RowsOf>
  void add_chunk(const Conv3dChunk& chunk, const Weights& weights, const RowsOf& rows_of) {
    constexpr int64_t kLine = kLineBytes / sizeof(T);
    const int64_t depth = round_up(chunk.channels, kGroup);
    const T* next = weights.first + chunk.taps * depth * stride_;
    const int64_t ahead = std::min<int64_t>(next - weights.first, weights.end - next);
    const int64_t share = round_up(divide_up(ahead, tiles_), kLine);
    const T* rows[2][kChunkTaps * kTileRows];  // of this tile and the next
    Multiplier<Operands, vectors> multiplier(chunk, weights.first);
    bool inside = rows_of(0, rows[0]);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      // While the tiles use these weights, the next chunk's, which follow them, come nearer.
      for (int64_t i = tile * share; i < std::min((tile + 1) * share, ahead); i += kLine) {
        prefetch_to_second_level(next + i);
      }
      const T** next_rows = rows[(tile + 1) % 2];
      const bool next_inside = tile + 1 < tiles_ && rows_of((tile + 1) * kTileRows, next_rows);
      if (next_inside) prefetch_starts(next_rows);
      if (inside) {
        multiplier.add(rows[tile % 2], totals_ + tile * kTileRows * stride_);
      }
      inside = next_inside;
    }
  }

  // The first two lines of each row; the processor foresees the rest. All of them at once would
  // stand in the way of the current tile's loads.
  static void prefetch_starts(const T* const* rows) {
    for (int64_t i = 0; i < kTileRows; ++i) {
      hwy::Prefetch(rows[i]);
      hwy::Prefetch(rows[i] + kLineBytes / sizeof(T));
    }
  }

  bool rows_of_taps(const Conv3dChunk& chunk, const Conv3dTap* taps, int64_t first,
                    const T** rows) const {
    const int64_t* frame = origins_.frame + first;
    const int64_t* offset = origins_.offset + first;
    const bool all = std::all_of(origins_.inside + first, origins_.inside + first + kTileRows,
                                 [](bool inside) { return inside; });
    bool any = all;
    for (int64_t tap = 0; tap < chunk.taps; ++tap, rows += kTileRows) {
      const auto source = [&](int64_t i) {
        const T* base = frame[i] + chunk.time < 0 ? history_end_ : static_cast<const T*>(args_.x);
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
        rows[i] = hit ? source(i) : kZeros<T>;
        any |= hit;
      }
    }
    return any;
  }

  bool rows_of_shortcut(int64_t channel, int64_t first, const T** rows) const {
    const T* shortcut = static_cast<const T*>(args_.shortcut) + channel;
    for (int64_t i = 0; i < kTileRows; ++i) {
      const bool exists = first + i < item_.pixels;
      rows[i] = exists ? shortcut + origins_.output[first + i] * args_.c_shortcut : kZeros<T>;
    }
    return true;
  }

  const Conv3dArgs& args_;
  const Conv3dBlocks& blocks_;
  const Conv3dOrigins& origins_;
  const Conv3dItem& item_;
  const int64_t lanes_ = vector_lanes();
  const int64_t stride_ = vectors * lanes_;  // channels of the panel, padding included
  const int64_t tiles_;
  float* const totals_;
  const T* history_end_ = nullptr;
};

template <class Operands>
void add_panel(const Conv3dArgs& args, const Conv3dBlocks& blocks, const Conv3dOrigins& origins,
               const Conv3dItem& item, int64_t panel, float* totals) {
  static_assert(kBlockPixels % kTileRows == 0);
  with_panel_vectors(panel * kTileVectors * vector_lanes(), args.c_out,
                     [&]<int vectors>() HWY_ATTR {
                       Block<Operands, vectors>(args, blocks, origins, item, totals).run(panel);
                     });
}

template <class Operands>
void run_item(const Conv3dArgs& args, const Conv3dBlocks& blocks, const Conv3dItem& item,
              float* buffer) {
  Conv3dOrigins origins;
  locate_conv3d(args, blocks, item, round_up(item.pixels, kTileRows), origins);
  Sums sums = {.data = buffer,
               .pixels = blocks.block_pixels,
               .panel_channels = kTileVectors * vector_lanes()};
  sums.first_channel = item.first_panel * sums.panel_channels;
  sums.channels =
      std::min(blocks.item_panels * sums.panel_channels, args.c_out - sums.first_channel);
  for (int64_t i = 0; i < blocks.item_panels; ++i) {
    add_panel<Operands>(args, blocks, origins, item, item.first_panel + i,
                        buffer + i * sums.panel_channels * sums.pixels);
  }
  const Epilogue<typename Operands::Stored> epilogue(args, sums);
  constexpr int64_t kPixels = epilogue.kPixels;
  for (int64_t i = 0; i < item.pixels; i += kPixels) {
    epilogue.pixels(i, origins.output + i, std::min(kPixels, item.pixels - i));
  }
}

template <class Operands>
Conv3dTile tile_of() {
  return {.rows = kTileRows,
          .lanes = vector_lanes(),
          .panel_channels = kTileVectors * vector_lanes(),
          .chunk_depth = Operands::kChunkDepth,
          .group = Operands::kGroup};
}

template <class Operands>
int64_t scratch_floats(const Conv3dArgs& args) {
  return conv3d_scratch(args, tile_of<Operands>());
}

template <class Operands>
void run(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control) {
  check_conv3d(args);
  const Conv3dBlocks blocks = plan_conv3d(args, tile_of<Operands>(), pool.threads());
  Scratch scratch(args.scratch, scratch_floats<Operands>(args), pool.threads());
  const auto item = [&](int64_t index) {
    float* buffer = scratch.take();
    run_item<Operands>(args, blocks, conv3d_item(blocks, index), buffer);
    scratch.give_back(buffer);
  };
  pool.run(blocks.items(), item, control);
}

template <class Operands>
int64_t rgb_scratch_floats(const Conv3dArgs& args) {
  return rgb_scratch(args, tile_of<Operands>());
}

template <class Operands>
void run_rgb(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control) {
  check_conv3d(args);
  const std::string refusal = rgb_refusal(args);
  ZOETROPE_CHECK(refusal.empty(), refusal);
  const RgbBlocks blocks = plan_rgb(args, tile_of<Operands>());
  Scratch scratch(args.scratch, rgb_scratch_floats<Operands>(args), pool.threads());
  const auto item = [&](int64_t index) {
    float* buffer = scratch.take();
    RgbItem<Operands>(args, blocks, index, buffer).run();
    scratch.give_back(buffer);
  };
  pool.run(blocks.items, item, control);
}

template <class Operands, int64_t kFrames>
int64_t winograd_scratch_floats(const Conv3dArgs& args) {
  return winograd_scratch(args, kFrames, tile_of<Operands>());
}

template <class Operands, int64_t kFrames>
void run_winograd(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control) {
  check_conv3d(args);
  const std::string refusal = kFrames == 1 ? winograd_refusal(args) : winograd_time_refusal(args);
  ZOETROPE_CHECK(refusal.empty(), refusal);
  const WinogradBlocks blocks = plan_winograd(args, kFrames, tile_of<Operands>(), pool.threads());
  const int64_t floats = winograd_scratch_floats<Operands, kFrames>(args);
  Scratch scratch(args.scratch, floats, pool.threads());
  const auto item = [&](int64_t index) {
    float* buffer = scratch.take();
    WinogradItem<Operands, kFrames>(args, blocks, index, buffer).run();
    scratch.give_back(buffer);
  };
  pool.run(blocks.items(), item, control);
}

template <class Operands>
constexpr Conv3dKernel row(const char* name) {
  return {.name = name,
          .layout = name,
          .target = HWY_TARGET,
          .operands = Operands::kType,
          .lanes = vector_lanes,
          .panel_vectors = kTileVectors,
          .group = Operands::kGroup,
          .refusal = no_refusal,
          .scratch_floats = scratch_floats<Operands>,
          .run = run<Operands>};
}

// kFrames: output frames of a tile.
template <class Operands, int64_t kFrames>
constexpr Conv3dKernel winograd_row(const char* name, const char* layout) {
  Conv3dKernel kernel = row<Operands>(name);
  kernel.layout = layout;
  kernel.refusal = kFrames == 1 ? winograd_refusal : winograd_time_refusal;
  kernel.scratch_floats = winograd_scratch_floats<Operands, kFrames>;
  kernel.run = run_winograd<Operands, kFrames>;
  return kernel;
}

template <class Operands>
constexpr Conv3dKernel rgb_row(const char* name, const char* layout) {
  Conv3dKernel kernel = row<Operands>(name);
  kernel.layout = layout;
  kernel.refusal = rgb_refusal;
  kernel.scratch_floats = rgb_scratch_floats<Operands>;
  kernel.run = run_rgb<Operands>;
  return kernel;
}

constexpr auto kName = row_name("conv3d_f32_", HWY_STR(HWY_NAMESPACE));
constexpr auto kRgbName = row_name("conv3d_f32_rgb_", HWY_STR(HWY_NAMESPACE));
constexpr auto kWinogradName = row_name("conv3d_f32_winograd_", HWY_STR(HWY_NAMESPACE));
constexpr auto kWinogradTimeName = row_name("conv3d_f32_winograd3d_", HWY_STR(HWY_NAMESPACE));

}  // namespace conv3d

constexpr Conv3dKernel kConv3dFloat32 = conv3d::row<Float32>(conv3d::kName.data());
constexpr Conv3dKernel kRgbFloat32 =
    conv3d::rgb_row<Float32>(conv3d::kRgbName.data(), conv3d::kName.data());
constexpr Conv3dKernel kWinogradFloat32 =
    conv3d::winograd_row<Float32, 1>(conv3d::kWinogradName.data(), conv3d::kName.data());
constexpr Conv3dKernel kWinogradTimeFloat32 =
    conv3d::winograd_row<Float32, 2>(conv3d::kWinogradTimeName.data(), conv3d::kName.data());
#if HWY_TARGET == ZOETROPE_CONV3D_BF16_TARGET
constexpr Conv3dKernel kConv3dPairs = conv3d::row<BFloat16Pairs>("conv3d_bf16_avx512bf16");
constexpr Conv3dKernel kConv3dExpanded = conv3d::row<BFloat16Expanded>("conv3d_bf16_avx3");
constexpr Conv3dKernel kRgbExpanded =
    conv3d::rgb_row<BFloat16Expanded>("conv3d_bf16_rgb_avx3", kConv3dExpanded.layout);
constexpr Conv3dKernel kWinogradExpanded =
    conv3d::winograd_row<BFloat16Expanded, 1>("conv3d_bf16_winograd_avx3", kConv3dExpanded.layout);
constexpr Conv3dKernel kWinogradTimeExpanded = conv3d::winograd_row<BFloat16Expanded, 2>(
    "conv3d_bf16_winograd3d_avx3", kConv3dExpanded.layout);
#else
constexpr Conv3dKernel kConv3dPairs = {};  // of no instruction set
constexpr Conv3dKernel kConv3dExpanded = {};
constexpr Conv3dKernel kRgbExpanded = {};
constexpr Conv3dKernel kWinogradExpanded = {};
constexpr Conv3dKernel kWinogradTimeExpanded = {};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {

std::vector<Conv3dKernel> conv3d_kernels(int64_t instruction_sets, Bf16Products bf16) {
  std::vector<Conv3dKernel> rows = supported_rows<Conv3dKernel>(
      std::to_array<const Conv3dKernel*>(
          {HWY_CHOOSE_TARGET_LIST(kConv3dPairs), HWY_CHOOSE_FALLBACK(kConv3dPairs),
           HWY_CHOOSE_TARGET_LIST(kWinogradTimeExpanded),
           HWY_CHOOSE_FALLBACK(kWinogradTimeExpanded), HWY_CHOOSE_TARGET_LIST(kWinogradExpanded),
           HWY_CHOOSE_FALLBACK(kWinogradExpanded), HWY_CHOOSE_TARGET_LIST(kRgbExpanded),
           HWY_CHOOSE_FALLBACK(kRgbExpanded), HWY_CHOOSE_TARGET_LIST(kConv3dExpanded),
           HWY_CHOOSE_FALLBACK(kConv3dExpanded), HWY_CHOOSE_TARGET_LIST(kWinogradTimeFloat32),
           HWY_CHOOSE_FALLBACK(kWinogradTimeFloat32), HWY_CHOOSE_TARGET_LIST(kWinogradFloat32),
           HWY_CHOOSE_FALLBACK(kWinogradFloat32), HWY_CHOOSE_TARGET_LIST(kRgbFloat32),
           HWY_CHOOSE_FALLBACK(kRgbFloat32), HWY_CHOOSE_TARGET_LIST(kConv3dFloat32),
           HWY_CHOOSE_FALLBACK(kConv3dFloat32)}),
      instruction_sets);
  const auto is_bf16 = [](const Conv3dKernel& row) { return row.operands == DType::kBFloat16; };
  if (bf16 == Bf16Products::kNone) std::erase_if(rows, is_bf16);
  const auto first = std::ranges::find_if(rows, is_bf16);
  const auto end = std::find_if_not(first, rows.end(), is_bf16);
  const bool expanded = bf16 == Bf16Products::kExpanded;
  if (first != end && expanded) std::rotate(first, first + 1, end);
  return rows;
}

Bf16Products bf16_products() {
  if (!multiplies_bf16()) return Bf16Products::kNone;
  return multiplies_bf16_well() ? Bf16Products::kPairs : Bf16Products::kExpanded;
}

std::span<const Conv3dKernel> conv3d_kernels() {
  static const std::vector<Conv3dKernel> rows =
      conv3d_kernels(hwy::SupportedTargets(), bf16_products());
  return rows;
}

}  // namespace zoetrope::cpu
#endif
