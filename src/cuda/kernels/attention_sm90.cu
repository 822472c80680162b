// SPDX-License-Identifier: Apache-2.0
// Attention with one head of 384 channels on Hopper. A block owns 64 queries of one frame for each
// of its consumer warpgroups, and goes through the keys 32 at a time, with a softmax that is
// brought up to date as it goes. Scores never leave the registers.
//
//   producer: queries once; then 32 keys, 32 values, ... -> full ... empty -> ring of stages
//   consumer: scores = queries * keys -> weights -> sums += weights * values, 64 x 384 in registers
//
// Registers of a consumer's thread: 192 of sums, 16 of scores, 8 of weights. Two warpgroups take
// turns at issuing products, so that one's softmax runs under the other's products.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/attention_sm90_kernel.h"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarpgroup = 128;
constexpr int kChannels = kAttentionSm90Channels;
constexpr int kQueries = kAttentionSm90Queries;
constexpr int kKeys = kAttentionSm90Keys;
constexpr int kPieces = kChannels / kAttentionSm90Piece;
constexpr int kPieceBytes = kAttentionSm90Piece * 2;  // of a query, key or value
constexpr int kQueryBytes = kQueries * kChannels * 2;
constexpr int kStageBytes = kKeys * kChannels * 2;
constexpr int kStages = 4;
constexpr int kSharedAlignment = 1024;  // that swizzled boxes need
constexpr int kScores = kKeys / 2;      // of a thread
constexpr int kHalves = 2;              // of the channels: products of 192 columns
constexpr int kSums = kChannels / kHalves / 2;

// Sums are only scaled down when a row's largest score has risen by more than a factor of 2^8: all
// weights are relative to one number for each row, which cancels.
constexpr float kHeadroom = 8.0F;

// Shared memory from its start on: the ring, the barriers, the queries.
constexpr int kBarriersAt = kStages * kStageBytes;
constexpr int kQueriesAt = kBarriersAt + kSharedAlignment;

constexpr uint32_t kQueriesThere = kBarriersAt;
// Of the `turn`-th stage that is filled, counted from 0.
__device__ inline uint32_t full(uint32_t turn) { return kBarriersAt + 8 + turn % kStages * 16; }
__device__ inline uint32_t empty(uint32_t turn) { return full(turn) + 8; }
__device__ inline uint32_t parity(uint32_t turn) { return turn / kStages & 1; }
__device__ inline uint32_t stage(uint32_t turn) { return turn % kStages * kStageBytes; }

// ---- producer

struct Producer {
  const AttentionSm90Params& p;
  uint32_t shared;
  int frame;

  // Rows from `row` on, piece by piece: 64 channels of all rows, then the next 64.
  __device__ void copy(const CUtensorMap& map, uint32_t to, int rows, int channel, int row,
                       uint32_t barrier) const {
    for (int i = 0; i < kPieces; ++i) {
      ptx::copy_box(
          to + i * rows * kPieceBytes, &map,
          {.c = channel + i * kAttentionSm90Piece, .x = row, .parity = 0, .y = 0, .t = frame},
          barrier);
    }
  }

  __device__ void run(int first_query, int warpgroups) const {
    const uint32_t there = shared + kQueriesThere;
    ptx::mbarrier_arrive_expect(there, warpgroups * kQueryBytes);
    for (int i = 0; i < warpgroups; ++i) {
      copy(p.queries, shared + kQueriesAt + i * kQueryBytes, kQueries, 0,
           first_query + i * kQueries, there);
    }
    uint32_t turn = 0;
    for (int key = 0; key < p.positions; key += kKeys) {
      for (int part = 1; part <= 2; ++part, ++turn) {
        ptx::mbarrier_wait(shared + empty(turn), parity(turn) ^ 1);
        ptx::mbarrier_arrive_expect(shared + full(turn), kStageBytes);
        copy(p.keys, shared + stage(turn), kKeys, part * kChannels, key, shared + full(turn));
      }
    }
  }
};

// ---- consumers

// Warpgroups' turns at issuing products.
template <int kWarpgroups>
__device__ inline void await_turn(int warpgroup) {
  if constexpr (kWarpgroups == 1) return;
  ptx::named_barrier_sync<2 * kWarpgroup>(1 + warpgroup);
}
template <int kWarpgroups>
__device__ inline void pass_turn(int warpgroup) {
  if constexpr (kWarpgroups == 1) return;
  ptx::named_barrier_arrive<2 * kWarpgroup>(2 - warpgroup);
}

// Keeps the compiler from holding in registers what it would compute from `address` before a loop.
__device__ __forceinline__ uint32_t again(uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

template <typename Operand, int kWarpgroups>
struct Consumer {
  const AttentionSm90Params& p;
  uint32_t shared;
  int warpgroup;
  int lane;
  uint32_t turn = 0;
  float most[2] = {-INFINITY, -INFINITY};  // what weights are relative to, in log2
  float total[2] = {};                     // of this lane's weights
  float scores[kScores];
  uint32_t weights[kKeys / 16][4];
  float sums[kHalves][kSums] = {};

  __device__ Consumer(const AttentionSm90Params& params, uint32_t shared_memory, int thread)
      : p(params),
        shared(shared_memory),
        warpgroup(__shfl_sync(~0u, thread / kWarpgroup, 0)),
        lane(thread % kWarp) {}

  __device__ __forceinline__ void wait_for(uint32_t which) const {
    ptx::mbarrier_wait(shared + full(which), parity(which));
  }

  __device__ __forceinline__ void release(uint32_t which) const {
    if (lane == 0) ptx::mbarrier_arrive(shared + empty(which));
  }

  __device__ __forceinline__ void score(uint32_t of) {
    const uint32_t base = again(shared);
    const ptx::Matrix a =
        ptx::matrix<kPieceBytes>(base + kQueriesAt + warpgroup * kQueryBytes, 8 * kPieceBytes);
    const ptx::Matrix b = ptx::matrix<kPieceBytes>(base + stage(of), 8 * kPieceBytes);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
#pragma unroll
      for (int k = 0; k < kPieceBytes / 32; ++k) {
        ptx::multiply<Operand>(scores, a + (i * kQueries * kPieceBytes / 16 + 2 * k),
                               b + (i * kKeys * kPieceBytes / 16 + 2 * k), i + k != 0);
      }
    }
    ptx::products_commit();
  }

  __device__ __forceinline__ void add_values(uint32_t of) {
    const ptx::Matrix b = ptx::matrix_of_columns(again(shared) + stage(of), kKeys * kPieceBytes);
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        constexpr int kHalfBytes = kKeys * kChannels * 2 / kHalves;
        ptx::multiply_rows<Operand>(sums[half], weights[k],
                                    b + (half * kHalfBytes + k * 16 * kPieceBytes) / 16);
      }
    }
    ptx::products_commit();
  }

  // Scores of keys that do not exist; `key` is the block's first.
  __device__ __forceinline__ void mask(int key) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      if (key + i / 4 * 8 + lane % 4 * 2 + i % 2 >= p.positions) scores[i] = -INFINITY;
    }
  }

  __device__ __forceinline__ float largest_of_row(int h) const {
    float largest = fmaxf(scores[2 * h], scores[2 * h + 1]);
#pragma unroll
    for (int i = 4; i < kScores; i += 4) {
      largest = fmaxf(largest, fmaxf(scores[i + 2 * h], scores[i + 2 * h + 1]));
    }
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
    return fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
  }

  // A row is scaled for reasons of its own alone: a factor of 1 changes nothing.
  __device__ __forceinline__ void raise_most() {
    const float largest[2] = {largest_of_row(0) * p.scale, largest_of_row(1) * p.scale};
    const bool raised[2] = {largest[0] > most[0] + kHeadroom, largest[1] > most[1] + kHeadroom};
    if (__any_sync(~0u, raised[0] || raised[1]) == 0) return;
    float factor[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      factor[h] = raised[h] ? ptx::exp2_approximate(most[h] - largest[h]) : 1.0F;
      if (raised[h]) most[h] = largest[h];
      total[h] *= factor[h];
    }
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      sums[0][i] *= factor[i / 2 % 2];
      sums[1][i] *= factor[i / 2 % 2];
    }
  }

  __device__ __forceinline__ void weigh() {
#pragma unroll
    for (int i = 0; i < kScores; i += 2) {
      const int h = i / 2 % 2;
      const float low = ptx::exp2_approximate(fmaf(scores[i], p.scale, -most[h]));
      const float high = ptx::exp2_approximate(fmaf(scores[i + 1], p.scale, -most[h]));
      total[h] += low + high;
      weights[i / 8][i % 8 / 2] = ptx::pack_pair(low, high, Operand());
    }
  }

  __device__ __forceinline__ void run() {
    ptx::mbarrier_wait(shared + kQueriesThere, 0);
    wait_for(0);
    await_turn<kWarpgroups>(warpgroup);
    ptx::products_fence();
    score(0);
    pass_turn<kWarpgroups>(warpgroup);
    ptx::products_wait<0>();
    release(0);
    int key = 0;
    for (; key + kKeys < p.positions; key += kKeys, turn += 2) {
      raise_most();
      weigh();
      wait_for(turn + 1);
      wait_for(turn + 2);
      await_turn<kWarpgroups>(warpgroup);
      ptx::products_fence();
      add_values(turn + 1);
      ptx::products_wait<0>();  // scores and weights under way at once take too many registers
      ptx::products_fence();
      score(turn + 2);
      pass_turn<kWarpgroups>(warpgroup);
      ptx::products_wait<0>();
      release(turn + 1);
      release(turn + 2);
    }
    mask(key);
    raise_most();
    weigh();
    wait_for(turn + 1);
    ptx::products_fence();
    add_values(turn + 1);
    ptx::products_wait<0>();
  }

  // Of four column groups that four lanes hold pairs of, each lane gets one whole, 8 neighbours.
  __device__ __forceinline__ uint4 exchange(const uint32_t (&w)[4]) const {
    const bool odd = (lane & 1) != 0;
    const bool upper = (lane & 2) != 0;
    const uint32_t a = __shfl_xor_sync(~0u, odd ? w[0] : w[1], 1);
    const uint32_t b = __shfl_xor_sync(~0u, odd ? w[2] : w[3], 1);
    const uint32_t low[2] = {odd ? a : w[0], odd ? w[1] : a};   // group 0 or 1, lanes 0, 1 or 2, 3
    const uint32_t high[2] = {odd ? b : w[2], odd ? w[3] : b};  // group 2 or 3
    const uint32_t c = __shfl_xor_sync(~0u, upper ? low[0] : high[0], 2);
    const uint32_t d = __shfl_xor_sync(~0u, upper ? low[1] : high[1], 2);
    return upper ? uint4{c, d, high[0], high[1]} : uint4{low[0], low[1], c, d};
  }

  __device__ __forceinline__ void store(int frame, int first_row) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      total[h] += __shfl_xor_sync(~0u, total[h], 1);
      total[h] += __shfl_xor_sync(~0u, total[h], 2);
      const float scale = 1.0F / total[h];
      const int row = first_row + 8 * h;
      auto* to = static_cast<Operand*>(p.y) +
                 (static_cast<int64_t>(frame) * p.positions + row) * kChannels + lane % 4 * 8;
#pragma unroll
      for (int i = 0; i < kHalves * kSums; i += 16) {
        const float* from = &sums[i / kSums][i % kSums + 2 * h];
        uint32_t w[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          w[j] = ptx::pack_pair(from[4 * j] * scale, from[4 * j + 1] * scale, Operand());
        }
        const uint4 eight = exchange(w);
        if (row < p.positions) *reinterpret_cast<uint4*>(to + 2 * i) = eight;
      }
    }
  }
};

template <typename Operand, int kWarpgroups>
__global__ void __launch_bounds__((kWarpgroups + 1) * kWarpgroup, 1)
    attend(const __grid_constant__ AttentionSm90Params p) {
  extern __shared__ __align__(1024) std::byte memory[];
  const uint32_t shared = ptx::shared_address(memory);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(shared + kQueriesThere, 1);
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(shared + full(i), 1);
      ptx::mbarrier_init(shared + empty(i), kWarpgroups * kWarpgroup / kWarp);
    }
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
  const int first_query = static_cast<int>(blockIdx.x) % p.blocks * kWarpgroups * kQueries;
  const int frame = static_cast<int>(blockIdx.x) / p.blocks;
  if (threadIdx.x < kWarpgroup) {
    ptx::lower_registers<24>();
    if (threadIdx.x == 0) Producer{p, shared, frame}.run(first_query, kWarpgroups);
  } else {
    ptx::raise_registers<240>();
    const int thread = static_cast<int>(threadIdx.x) - kWarpgroup;
    Consumer<Operand, kWarpgroups> consumer(p, shared, thread);
    // The first turn is passed to the first warpgroup, and the last to nobody.
    if (consumer.warpgroup == 1) pass_turn<kWarpgroups>(1);
    consumer.run();
    consumer.store(frame, first_query + thread / kWarp * 16 + thread % kWarp / 4);
    if (consumer.warpgroup == 0) await_turn<kWarpgroups>(0);
  }
}

template <typename Operand, int kWarpgroups>
cudaError_t start(const AttentionSm90Params& params, cudaStream_t stream) {
  constexpr int kBytes = kQueriesAt + kWarpgroups * kQueryBytes;
  const cudaError_t error = cudaFuncSetAttribute(
      attend<Operand, kWarpgroups>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const int grid = params.frames * params.blocks;
  attend<Operand, kWarpgroups><<<grid, (kWarpgroups + 1) * kWarpgroup, kBytes, stream>>>(params);
  return cudaGetLastError();
}

template <typename Operand>
cudaError_t start_for(const AttentionSm90Params& params, const AttentionSm90Launch& launch) {
  return launch.warpgroups == 1 ? start<Operand, 1>(params, launch.stream)
                                : start<Operand, 2>(params, launch.stream);
}

}  // namespace

cudaError_t start_attention_sm90(const AttentionSm90Params& params,
                                 const AttentionSm90Launch& launch) {
  return launch.half ? start_for<__half>(params, launch) : start_for<__nv_bfloat16>(params, launch);
}

}  // namespace zoetrope::cuda
