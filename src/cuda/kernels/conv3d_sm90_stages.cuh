// SPDX-License-Identifier: Apache-2.0
// conv3d_sm90's shared memory, and the copies that fill it: a ring of boxes of the input, a ring of
// weight stages, each with a barrier that says it is full and one that says it is empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/conv3d_sm90_kernel.h"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"

namespace zoetrope::cuda::sm90 {

constexpr int kWarp = 32;
constexpr int kWarpgroup = 128;
constexpr int kConsumers = 2;
constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
constexpr int kConsumerWarps = kConsumers * kWarpgroup / kWarp;
constexpr int kBlockSide = 8;
constexpr int kGroup = 32;  // filters whose sums four lanes hold as 8 neighbours each

// kSplit blocks, a cluster, share a tile: each has kFilters of its filters, and they take turns in
// copying its boxes to all of them. Where pixels have few channels, kFold neighbours, so many taps,
// are one row of a product: rows overlap.
template <typename OperandType, int kFiltersOf, int kBlocksOf, int kChunkOf, int kSplitOf = 1,
          int kFoldOf = 1>
struct Tile {
  using Operand = OperandType;
  static constexpr int kFilters = kFiltersOf;
  static constexpr int kChunk = kChunkOf;  // input channels
  static constexpr int kSplit = kSplitOf;
  static constexpr int kBlocks = kBlocksOf;  // of a warpgroup
  static constexpr int kPixelBytes = kChunk * static_cast<int>(sizeof(Operand));
  static constexpr int kRowBytes = kPixelBytes * kFoldOf;  // of weights
  static constexpr int kTapBytes = kFilters * kRowBytes;
  static constexpr int kSteps = kRowBytes / 32;
  static constexpr int kResidualBoxes = kFoldOf == 1 ? kFilters / kChunk : 0;
  static constexpr bool kFew = kFilters == 8;
  static_assert(kFew || kFilters % kGroup == 0);
  static_assert(kBlocks * kFilters <= 384, "more sums than a thread has registers for");
};

// A block's place in its cluster, and the tiles that are its cluster's.
struct Place {
  int split;
  int first;
  int step;
};

template <typename T>
__device__ Place place() {
  return {.split = T::kSplit == 1 ? 0 : static_cast<int>(ptx::cluster_rank()),
          .first = static_cast<int>(blockIdx.x) / T::kSplit,
          .step = static_cast<int>(gridDim.x) / T::kSplit};
}

struct Exchange {
  float squares[2][kConsumers][kWarpgroup];  // by parity of the tile
  uint64_t arrived[2][kConsumers];
};

template <typename T>
struct Tail {
  alignas(16) float bias[2][T::kFilters];  // by part, where the store map interleaves frames
  alignas(16) float gamma[T::kFilters];    // half of it before a SiLU
  uint64_t full_a[kMaxStagesA];
  uint64_t empty_a[kMaxStagesA];
  uint64_t full_b[kMaxStagesB];
  uint64_t empty_b[kMaxStagesB];
  Exchange exchange;
};

// A position in a ring of stages and the parity of its present round.
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

// Where the stages and their barriers are, as shared addresses.
struct Stages {
  uint32_t a;
  uint32_t b;
  uint32_t full_a;
  uint32_t empty_a;
  uint32_t full_b;
  uint32_t empty_b;
};

struct Origin {
  int part;
  int t;
  int y;
  int x;
};

// Tiles are numbered part first, then frame, column and row: blocks that run together share inputs.
__device__ inline Origin origin_of(const Conv3dSm90Params& p, int tile) {
  const int part = tile % p.parts;
  tile /= p.parts;
  const int t = tile % p.frames;
  tile /= p.frames;
  const int x = tile % p.tiles_x * p.blocks_x * kBlockSide;
  const int y = tile / p.tiles_x * p.blocks_y * kBlockSide;
  return {part, t, y, x};
}

__device__ inline int conv_boxes(const Conv3dSm90Params& p) {
  return (p.kernel_time - p.first_tap) * p.chunks * p.planes;
}

// Boxes of the residual that are due once `done` of a tile's `boxes` boxes of operands have been
// used: spread evenly, so that the ring always holds operands too.
template <typename T>
__device__ int residual_due(const Conv3dSm90Params& p, int done, int boxes) {
  if (!p.has_residual) return 0;
  return min(done * (T::kResidualBoxes + 1) / boxes, T::kResidualBoxes);
}

template <typename T>
struct BoxLoader {
  const Conv3dSm90Params& p;
  const Stages& s;
  const Place& place;
  Ring ring = {};
  int turn = 0;  // of the blocks that share boxes

  __device__ uint32_t next_stage() {
    ptx::mbarrier_wait(s.empty_a + 8 * ring.stage, ring.parity ^ 1);
    ptx::mbarrier_arrive_expect(s.full_a + 8 * ring.stage, p.box_bytes);
    return s.a + ring.stage * p.stage_a_bytes;
  }

  __device__ void load(const CUtensorMap* map, const ptx::Coordinates& at) {
    const uint32_t stage = next_stage();
    ptx::copy_box(stage, map, at, s.full_a + 8 * ring.stage);
    ring.advance(p.stages_a);
  }

  __device__ void load_shared(const CUtensorMap* map, const ptx::Coordinates& at) {
    if constexpr (T::kSplit == 1) {
      load(map, at);
    } else {
      const uint32_t stage = next_stage();
      constexpr uint32_t kTogether = (1 << T::kSplit) - 1;
      if (turn == place.split) {
        ptx::copy_box_to(kTogether, stage, map, at, s.full_a + 8 * ring.stage);
      }
      turn = (turn + 1) % T::kSplit;
      ring.advance(p.stages_a);
    }
  }
};

// Boxes of one tile, in the order in which the consumers use them.
template <typename T>
struct TileLoader {
  const Conv3dSm90Params& p;
  BoxLoader<T>& loader;
  Origin o;
  int boxes;
  int done = 0;
  int residuals = 0;

  __device__ void load(const CUtensorMap* map, const ptx::Coordinates& at) {
    loader.load_shared(map, at);
    const int due = residual_due<T>(p, ++done, boxes);
    for (; residuals < due; ++residuals) {
      const int c = loader.place.split * T::kFilters + residuals * T::kChunk;
      loader.load(&p.residual, {c, o.x, 0, o.y, o.t});
    }
  }

  __device__ void load_frame(const CUtensorMap* map, int t) {
    const int shift_y = p.space_scale == 2 ? o.part >> 1 : 0;
    const int shift_x = p.space_scale == 2 ? o.part & 1 : 0;
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      for (int i = 0; i < p.planes; ++i) {
        const Conv3dSm90Plane& plane = p.plane[i];
        load(map, {.c = chunk * T::kChunk + plane.c,
                   .x = o.x + plane.x + shift_x,
                   .parity = plane.parity,
                   .y = o.y + plane.y + shift_y,
                   .t = t});
      }
    }
  }
};

template <typename T>
__device__ void load_boxes(const Conv3dSm90Params& p, const Stages& s, const Place& place) {
  BoxLoader<T> loader{p, s, place};
  const int boxes = conv_boxes(p) + p.shortcut_chunks;
  for (int tile = place.first; tile < p.tiles; tile += place.step) {
    const Origin o = origin_of(p, tile);
    TileLoader<T> of_tile{p, loader, o, boxes};
    for (int kt = p.first_tap; kt < p.kernel_time; ++kt) {
      const int t = o.t * p.stride_time + kt - p.history_frames;
      if (t < 0) {
        of_tile.load_frame(&p.history, t + p.history_frames);
      } else {
        of_tile.load_frame(&p.x, t);
      }
    }
    for (int chunk = 0; chunk < p.shortcut_chunks; ++chunk) {
      of_tile.load(&p.shortcut, {chunk * T::kChunk, o.x, 0, o.y, o.t});
    }
  }
}

template <typename T>
struct WeightLoader {
  const Conv3dSm90Params& p;
  const Stages& s;
  Ring ring = {};

  __device__ const std::byte* load(const std::byte* weight, int taps) {
    ptx::mbarrier_wait(s.empty_b + 8 * ring.stage, ring.parity ^ 1);
    const uint32_t full = s.full_b + 8 * ring.stage;
    const uint32_t bytes = taps * T::kTapBytes;
    ptx::mbarrier_arrive_expect(full, bytes);
    ptx::copy_bytes(s.b + ring.stage * p.taps_per_stage * T::kTapBytes, weight, bytes, full);
    ring.advance(p.stages_b);
    return weight + bytes;
  }
};

template <typename T>
__device__ void load_weights(const Conv3dSm90Params& p, const Stages& s, const Place& place) {
  WeightLoader<T> loader{p, s};
  for (int tile = place.first; tile < p.tiles; tile += place.step) {
    const int slice = origin_of(p, tile).part * T::kSplit + place.split;
    const std::byte* weight = p.weight + slice * p.slice_weight_bytes;
    for (int box = conv_boxes(p), plane = 0; box > 0; --box) {
      for (int taps = p.plane[plane].taps; taps > 0; taps -= p.taps_per_stage) {
        weight = loader.load(weight, min(taps, p.taps_per_stage));
      }
      if (++plane == p.planes) plane = 0;
    }
    weight = p.shortcut_weight + slice * p.slice_shortcut_bytes;
    for (int chunk = 0; chunk < p.shortcut_chunks; ++chunk) weight = loader.load(weight, 1);
  }
}

}  // namespace zoetrope::cuda::sm90
