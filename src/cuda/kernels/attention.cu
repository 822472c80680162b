// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "cuda/kernels/conv3d_mma.h"
#include "cuda/kernels/conv3d_mma_lane.h"
#include "cuda/kernels/grid.cuh"
#include "cuda/kernels/number.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kMostScoreBytes = int64_t{64} << 20;
constexpr int64_t kChunkBytes = 64;
constexpr int64_t kKeyMultiple = 16;  // rows of scores and weights are whole 16 bytes in all types

// Values of a frame are few filters over many positions: narrow blocks keep a GPU busy.
int64_t value_block(int64_t channels) {
  return std::min<int64_t>(conv3d_mma_block(channels, false), 32);
}

// A matrix as the weights of a 1x1x1 conv; see conv3d_mma_pack.
struct PackArgs {
  const void* values;
  int64_t filter_stride;  // in elements
  int64_t channel_stride;
  int64_t filters;
  int64_t channels;
  int64_t block_filters;
  int64_t chunks;
  uint4* packed;

  int64_t items() const {
    return divide_up(filters, block_filters) * chunks * block_filters * kChunkBytes / 16;
  }
};

template <typename T>
__global__ void pack_kernel(PackArgs args, int64_t items) {
  constexpr int kCount = 16 / sizeof(T);
  struct alignas(16) Values {
    T values[kCount];
  };
  const int64_t lanes = args.block_filters * kChunkBytes / 16;  // of a chunk of a block
  for (int64_t item = grid_first(); item < items; item += grid_step()) {
    const Conv3dMmaLane lane(item % lanes, args.block_filters, sizeof(T));
    const int64_t first_channel =
        item / lanes % args.chunks * (kChunkBytes / static_cast<int64_t>(sizeof(T)));
    const int64_t first_filter = item / lanes / args.chunks * args.block_filters;
    Values packed;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int64_t filter = first_filter + lane.filter(i);
      const int64_t c = first_channel + lane.channel(i);
      const bool exists = filter < args.filters && c < args.channels;
      packed.values[i] =
          exists ? static_cast<const T*>(
                       args.values)[filter * args.filter_stride + c * args.channel_stride]
                 : from_float<T>(0.0F);
    }
    args.packed[item] = *reinterpret_cast<const uint4*>(&packed);
  }
}

// Over all threads of the block, in the order of a tree; `shared`: a float for each thread.
template <typename Combine>
__device__ float reduce(float value, float* shared, const Combine& combine) {
  const int thread = static_cast<int>(threadIdx.x);
  shared[thread] = value;
  for (int half = kGridThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] = combine(shared[thread], shared[thread + half]);
  }
  __syncthreads();
  const float result = shared[0];
  __syncthreads();
  return result;
}

// A block for each row of `row` floats, of which `keys` count: scores become weights of type T, in
// the row's own memory, zeros beyond the keys. A chunk's weights overwrite scores of it and of
// earlier ones alone, which have been read.
template <typename T>
__global__ void softmax_kernel(float* scores, int64_t row, int64_t keys, float scale) {
  __shared__ float shared[kGridThreads];
  const int thread = static_cast<int>(threadIdx.x);
  float* from = scores + blockIdx.x * row;
  T* to = reinterpret_cast<T*>(from);
  float largest = -INFINITY;
  for (int64_t i = thread; i < keys; i += kGridThreads) largest = fmaxf(largest, from[i]);
  largest = reduce(largest, shared, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0F;
  for (int64_t i = thread; i < keys; i += kGridThreads) sum += expf((from[i] - largest) * scale);
  sum = reduce(sum, shared, [](float a, float b) { return a + b; });
  constexpr int kEach = 8;  // of a thread
  for (int64_t first = thread; first - thread < row; first += kEach * kGridThreads) {
    float weights[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t i = first + j * kGridThreads;
      weights[j] = i < keys ? expf((from[i] - largest) * scale) / sum : 0.0F;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t i = first + j * kGridThreads;
      if (i < row) to[i] = from_float<T>(weights[j]);
    }
  }
}

// One frame's part of the workspace.
struct Layout {
  int64_t keys;     // padded
  int64_t queries;  // of a block
  int64_t key_bytes;
  int64_t value_bytes;
};

Layout layout_of(DType operands, int64_t positions, int64_t channels) {
  const int64_t size = size_of(operands);
  Layout layout;
  layout.keys = round_up(positions, kKeyMultiple);
  layout.queries = std::clamp<int64_t>(kMostScoreBytes / (layout.keys * 4), 1, positions);
  const int64_t key_filters = round_up(layout.keys, conv3d_mma_block(layout.keys, false));
  layout.key_bytes = key_filters * round_up(channels * size, kChunkBytes);
  layout.value_bytes =
      round_up(channels, value_block(channels)) * round_up(layout.keys * size, kChunkBytes);
  return layout;
}

class Attention {
 public:
  Attention(const AttentionArgs& args, cudaStream_t stream)
      : args_(args),
        stream_(stream),
        size_(size_of(args.operands)),
        layout_(layout_of(args.operands, args.positions, args.channels)),
        scores_(reinterpret_cast<float*>(args.workspace)),
        keys_(args.workspace + std::max(kMostScoreBytes, layout_.keys * 4)),
        values_(keys_ + layout_.key_bytes) {}

  cudaError_t run() const {
    for (int64_t frame = 0; frame < args_.frames; ++frame) {
      if (const cudaError_t error = run_frame(frame); error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }

 private:
  cudaError_t run_frame(int64_t frame) const {
    const int64_t c = args_.channels;
    const auto* qkv =
        static_cast<const std::byte*>(args_.qkv) + frame * args_.positions * 3 * c * size_;
    pack({.values = qkv + c * size_,
          .filter_stride = 3 * c,
          .channel_stride = 1,
          .filters = args_.positions,
          .channels = c,
          .block_filters = conv3d_mma_block(layout_.keys, false),
          .chunks = divide_up(c * size_, kChunkBytes),
          .packed = reinterpret_cast<uint4*>(keys_)});
    pack({.values = qkv + 2 * c * size_,
          .filter_stride = 1,
          .channel_stride = 3 * c,
          .filters = c,
          .channels = args_.positions,
          .block_filters = value_block(c),
          .chunks = divide_up(layout_.keys * size_, kChunkBytes),
          .packed = reinterpret_cast<uint4*>(values_)});
    auto* y = static_cast<std::byte*>(args_.y) + frame * args_.positions * c * size_;
    for (int64_t first = 0; first < args_.positions; first += layout_.queries) {
      const int64_t queries = std::min(layout_.queries, args_.positions - first);
      const cudaError_t error =
          run_block(qkv + first * 3 * c * size_, queries, y + first * c * size_);
      if (error != cudaSuccess) return error;
    }
    return cudaGetLastError();
  }

  cudaError_t run_block(const std::byte* q, int64_t queries, std::byte* y) const {
    Conv3dArgs scores = rows(queries);
    scores.x = q;
    scores.c_in = args_.channels;
    scores.pixel_stride = 3 * args_.channels;
    scores.weight = keys_;
    scores.y = scores_;
    scores.y_type = DType::kFloat32;
    scores.c_out = layout_.keys;
    cudaError_t error = conv3d_mma(scores, conv3d_mma_block(layout_.keys, false), stream_);
    if (error != cudaSuccess) return error;
    softmax(queries);
    Conv3dArgs sums = rows(queries);
    sums.x = scores_;
    sums.c_in = layout_.keys;
    sums.pixel_stride = layout_.keys * (4 / size_);
    sums.weight = values_;
    sums.y = y;
    sums.y_type = args_.operands;
    sums.c_out = args_.channels;
    return conv3d_mma(sums, value_block(args_.channels), stream_);
  }

  Conv3dArgs rows(int64_t queries) const {
    return {.operands = args_.operands,
            .frames = 1,
            .height = 1,
            .width = queries,
            .out_height = 1,
            .out_width = queries};
  }

  void pack(const PackArgs& pack) const {
    const int64_t items = pack.items();
    const unsigned blocks = grid_for(items);
    if (args_.operands == DType::kFloat32) {
      pack_kernel<float><<<blocks, kGridThreads, 0, stream_>>>(pack, items);
    } else if (args_.operands == DType::kFloat16) {
      pack_kernel<__half><<<blocks, kGridThreads, 0, stream_>>>(pack, items);
    } else {
      pack_kernel<__nv_bfloat16><<<blocks, kGridThreads, 0, stream_>>>(pack, items);
    }
  }

  void softmax(int64_t queries) const {
    const auto blocks = static_cast<unsigned>(queries);
    const float scale = 1.0F / std::sqrt(static_cast<float>(args_.channels));
    const int64_t row = layout_.keys;
    if (args_.operands == DType::kFloat32) {
      softmax_kernel<float>
          <<<blocks, kGridThreads, 0, stream_>>>(scores_, row, args_.positions, scale);
    } else if (args_.operands == DType::kFloat16) {
      softmax_kernel<__half>
          <<<blocks, kGridThreads, 0, stream_>>>(scores_, row, args_.positions, scale);
    } else {
      softmax_kernel<__nv_bfloat16>
          <<<blocks, kGridThreads, 0, stream_>>>(scores_, row, args_.positions, scale);
    }
  }

  const AttentionArgs& args_;
  cudaStream_t stream_;
  int64_t size_;
  Layout layout_;
  float* scores_;
  std::byte* keys_;
  std::byte* values_;
};

}  // namespace

int64_t attention_workspace_per_position(DType operands, int64_t channels) {
  const int64_t size = size_of(operands);
  const int64_t keys = round_up(channels * size, kChunkBytes);
  const int64_t values = round_up(channels, value_block(channels)) * size;
  return divide_up(keys + values, 4);
}

// Keys are rounded up to a block's filters, and a value's keys to whole chunks.
int64_t attention_workspace_fixed(DType operands, int64_t channels) {
  const int64_t size = size_of(operands);
  const int64_t keys = (192 + kKeyMultiple) * round_up(channels * size, kChunkBytes);
  const int64_t values =
      round_up(channels, value_block(channels)) * (kKeyMultiple * size + kChunkBytes);
  return kMostScoreBytes + keys + values;
}

cudaError_t attention(const AttentionArgs& args, cudaStream_t stream) {
  return Attention(args, stream).run();
}

}  // namespace zoetrope::cuda
