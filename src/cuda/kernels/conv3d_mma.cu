// SPDX-License-Identifier: Apache-2.0
// Causal 3-D convs as implicit GEMM by warps' matrix products: pixels x filters, summed over taps
// in time, chunks of 64 bytes of channels, taps in space. A thread block owns a tile of pixels
// (rows of 16) and a block of filters; the sum is never divided.
//
// Boxes of input pixels lie in a ring of shared memory, halo and all: one serves every tap of a
// plane, since a tap is an address. Weights, packed in the order in which lanes read them, come
// through a second ring, a stage for each tap. Both are filled two steps ahead.
#include <type_traits>

#include "cuda/kernels/conv3d_mma_epilogue.cuh"
#include "cuda/kernels/conv3d_mma_params.h"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/shared.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kChunkBytes = 64;
constexpr int kSegments = kChunkBytes / 16;
constexpr int kAhead = kConv3dMmaStagesB - 1;

// kTilesM x kTilesN products of 16 pixels and 8 filters for each of kWarpsM x kWarpsN warps.
template <typename OperandType, int kTilesMOf, int kTilesNOf, int kWarpsMOf, int kWarpsNOf>
struct Variant {
  using Operand = OperandType;
  static constexpr int kTilesM = kTilesMOf;
  static constexpr int kTilesN = kTilesNOf;
  static constexpr int kWarpsM = kWarpsMOf;
  static constexpr int kWarpsN = kWarpsNOf;
  static constexpr int kRows = kTilesM * kWarpsM;
  static constexpr int kFilters = kTilesN * kWarpsN * 8;
  static constexpr int kThreads = kWarpsM * kWarpsN * kWarp;
  static constexpr int kStageBytes = kFilters * kChunkBytes;
  static constexpr int kBlocksPerProcessor = kThreads == 128 ? 2 : 1;
  static_assert(kTilesN % 2 == 0);
};

// Float32 keeps its sums twice, so its warps have fewer.
template <typename T>
using Variant16 = Variant<T, 2, 2, 4, 1>;
template <typename T>
using Variant32 = Variant<T, 2, 4, 4, 1>;
template <typename T>
using Variant96 =
    std::conditional_t<std::is_same_v<T, float>, Variant<T, 2, 6, 2, 2>, Variant<T, 4, 12, 4, 1>>;
template <typename T>
using Variant192 =
    std::conditional_t<std::is_same_v<T, float>, Variant<T, 2, 6, 2, 4>, Variant<T, 4, 12, 2, 2>>;
template <typename T>
using Variant384 =
    std::conditional_t<std::is_same_v<T, float>, Variant<T, 2, 6, 1, 8>, Variant<T, 4, 12, 1, 4>>;

// A place in the sum: a tap of a chunk of a frame, then the chunks of the shortcut.
struct Step {
  int time;
  int chunk = 0;
  int row = 0;  // of the tap
  int column = 0;
  bool shortcut = false;
  int box = 0;  // stage of shared memory

  __device__ bool begins_box(const Conv3dMmaParams& p) const {
    return shortcut || !p.whole_plane || (row == 0 && column == 0);
  }

  __device__ void advance(const Conv3dMmaParams& p) {
    if (shortcut) {
      ++chunk;
    } else if (++column == p.kernel_width) {
      column = 0;
      if (++row == p.kernel_height) next_chunk(p);
    }
    if (begins_box(p) && ++box == p.stages_a) box = 0;
  }

 private:
  __device__ void next_chunk(const Conv3dMmaParams& p) {
    row = 0;
    if (++chunk < p.x.chunks) return;
    chunk = 0;
    shortcut = ++time == p.kernel_time;
  }
};

__device__ Conv3dMmaTile tile_of(const Conv3dMmaParams& p, int rows) {
  int index = static_cast<int>(blockIdx.x);
  Conv3dMmaTile tile;
  tile.block = index % p.blocks;
  index /= p.blocks;
  tile.part = index % p.parts;
  index /= p.parts;
  tile.x = index % p.tiles_x * 16;
  index /= p.tiles_x;
  tile.y = index % p.tiles_y * rows;
  tile.frame = index / p.tiles_y;
  return tile;
}

// Fills the rings, one step after another.
template <typename V>
class Loader {
 public:
  __device__ Loader(const Conv3dMmaParams& p, const Conv3dMmaTile& tile, uint32_t shared)
      : p_(p), tile_(tile), boxes_(shared), stages_(shared + p.stages_a * p.stage_a_bytes) {
    step_.time = p.first_tap;
    const int64_t skipped =
        int64_t{p.first_tap} * p.x.chunks * p.kernel_height * p.kernel_width * V::kStageBytes;
    weight_ =
        p.weight + tile.part * p.part_weight_bytes + tile.block * p.block_weight_bytes + skipped;
  }

  __device__ void load_next() {
    if (step_.shortcut && step_.chunk == 0) {
      weight_ = p_.shortcut_weight + tile_.block * p_.block_shortcut_bytes;
    }
    if (step_.begins_box(p_)) load_box();
    load_weights();
    step_.advance(p_);
  }

 private:
  __device__ void load_weights() {
    constexpr int kCopies = (V::kStageBytes + V::kThreads * 16 - 1) / (V::kThreads * 16);
    const int first = static_cast<int>(threadIdx.x) * 16;
    const uint32_t to = stages_ + stage_ * V::kStageBytes + first;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int byte = i * V::kThreads * 16;
      if (V::kStageBytes % (V::kThreads * 16) != 0 && first + byte >= V::kStageBytes) break;
      cp_async_16(to + byte, weight_ + first + byte, true);
    }
    weight_ += V::kStageBytes;
    if (++stage_ == kConv3dMmaStagesB) stage_ = 0;
  }

  // Where the box of the step lies.
  struct Source {
    const std::byte* frame;
    int y;  // of the box's first pixel; may lie outside
    int x;
    int between;  // pixels of the box
  };

  __device__ Source shortcut_source() const {
    return {p_.shortcut.frames + tile_.frame * p_.shortcut.frame_bytes, tile_.y, tile_.x, 1};
  }

  __device__ Source source() const {
    const int frame = (tile_.frame + 1) * p_.stride_time - p_.kernel_time + step_.time;
    const int history_frames = p_.kernel_time - p_.stride_time;
    const std::byte* data = frame >= 0 ? p_.x.frames + frame * p_.x.frame_bytes
                                       : p_.x.history + (frame + history_frames) * p_.x.frame_bytes;
    const bool phases = p_.space_scale == 2;
    const int above = p_.pad_before - (phases ? tile_.part / 2 : 0);
    const int left = p_.pad_before - (phases ? tile_.part % 2 : 0);
    const int y = tile_.y * p_.stride_space - above;
    const int x = tile_.x * p_.stride_space - left;
    if (p_.whole_plane) return {data, y, x, 1};
    return {data, y + step_.row, x + step_.column, p_.stride_space};
  }

  __device__ void load_box() {
    const Conv3dMmaImage& image = step_.shortcut ? p_.shortcut : p_.x;
    const Source from = step_.shortcut ? shortcut_source() : source();
    Conv3dMmaBox box = p_.box;
    if (step_.shortcut) box = {.row = 16, .pixels = V::kRows * 16};
    const uint32_t to = boxes_ + step_.box * p_.stage_a_bytes;
    const int first_byte = step_.chunk * kChunkBytes;
    for (int i = static_cast<int>(threadIdx.x); i < box.pixels * kSegments; i += V::kThreads) {
      const int pixel = i / kSegments;
      const int row = pixel * box.row_magic >> 20;
      const int y = from.y + row * from.between;
      const int x = from.x + (pixel - row * box.row) * from.between;
      const int byte = first_byte + i % kSegments * 16;
      const bool inside = y >= 0 && y < image.height && x >= 0 && x < image.width &&
                          y * image.width + x < image.pixels;
      const int64_t offset =
          inside ? static_cast<int64_t>(y * image.width + x) * image.pixel_bytes : 0;
      load_segment(to + pixel * kConv3dMmaPixelBytes + i % kSegments * 16, from.frame + offset,
                   byte, inside ? image.channel_bytes : 0);
    }
  }

  // Bytes [byte, byte + 16) of a pixel, zeros from `end` on.
  __device__ void load_segment(uint32_t to, const std::byte* pixel, int byte, int end) const {
    if (p_.aligned) return cp_async_16(to, byte < end ? pixel + byte : pixel, byte < end);
    constexpr int kSize = sizeof(typename V::Operand);
    uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < 16; i += kSize) {
      if (byte + i >= end) break;
      uint32_t bits;
      if constexpr (kSize == 4) {
        bits = *reinterpret_cast<const uint32_t*>(pixel + byte + i);
      } else {
        bits = *reinterpret_cast<const uint16_t*>(pixel + byte + i);
      }
      words[i / 4] |= bits << i % 4 * 8;
    }
    ptx::store_shared(to, words);
  }

  const Conv3dMmaParams& p_;
  const Conv3dMmaTile& tile_;
  Step step_{};
  uint32_t boxes_;
  uint32_t stages_;
  const std::byte* weight_;
  int stage_ = 0;
};

// A float as the sum of two numbers of tf32; what is lost is below 2^-22 of it.
struct Halves {
  uint32_t high;
  uint32_t low;
};
__device__ __forceinline__ Halves split(uint32_t bits) {
  const uint32_t high = round_to_tf32(bits);
  const float rest = __uint_as_float(bits) - __uint_as_float(high);
  return {high, round_to_tf32(__float_as_uint(rest))};
}

// Of pixels: 16 rows of 16 or 8 channels for each product.
template <typename V>
using Pixels = uint32_t[V::kTilesM][4];

// sums += the products of float32 operands: high * high + high * low + low * high.
template <typename V>
__device__ __forceinline__ void multiply_split(float (&sums)[V::kTilesM][V::kTilesN][4],
                                               const Pixels<V>& high, const Pixels<V>& low,
                                               int tile, uint32_t b0, uint32_t b1) {
  const Halves first = split(b0);
  const Halves second = split(b1);
#pragma unroll
  for (int m = 0; m < V::kTilesM; ++m) {
    mma_tf32(sums[m][tile], low[m], first.high, second.high);
    mma_tf32(sums[m][tile], high[m], first.low, second.low);
    mma_tf32(sums[m][tile], high[m], first.high, second.high);
  }
}

// Reads the rings, one step after another.
template <typename V>
class Multiplier {
 public:
  __device__ Multiplier(const Conv3dMmaParams& p, uint32_t shared)
      : p_(p), boxes_(shared), weights_(shared + p.stages_a * p.stage_a_bytes) {
    step_.time = p.first_tap;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    lane_pixel_ = lane % 16;
    first_row_ = warp / V::kWarpsN * V::kTilesM;
    boxes_ += lane / 16 * 16;  // lanes 16 to 31 name the second 16 bytes
    weights_ += (warp % V::kWarpsN * (V::kTilesN / 2) * kWarp + lane) * 16;
  }

  __device__ void multiply_next(Conv3dMmaSums<V>& sums) {
    if constexpr (kIsFloat) {
      // Tensor cores cut off what a sum cannot hold; over few terms that stays far below its last
      // bit.
      float partial[V::kTilesM][V::kTilesN][4] = {};
      multiply(partial);
#pragma unroll
      for (int i = 0; i < V::kTilesM * V::kTilesN * 4; ++i) {
        sums[i / 4 / V::kTilesN][i / 4 % V::kTilesN][i % 4] +=
            partial[i / 4 / V::kTilesN][i / 4 % V::kTilesN][i % 4];
      }
    } else {
      multiply(sums);
    }
    if (++stage_ == kConv3dMmaStagesB) stage_ = 0;
    step_.advance(p_);
  }

 private:
  static constexpr bool kIsFloat = std::is_same_v<typename V::Operand, float>;
  static constexpr int kHalfBytes = V::kFilters / 16 * kWarp * 16;  // of a stage of weights

  // Of this lane's row of the first 16 pixels.
  __device__ uint32_t first_pixel(int& row_bytes) const {
    const bool plane = p_.whole_plane && !step_.shortcut;
    const int between = plane ? p_.stride_space : 1;
    const int row = plane ? p_.box.row : 16;
    row_bytes = between * row * kConv3dMmaPixelBytes;
    int pixel = lane_pixel_ * between;
    if (plane) pixel += step_.row * row + step_.column;
    return boxes_ + step_.box * p_.stage_a_bytes + first_row_ * row_bytes +
           pixel * kConv3dMmaPixelBytes;
  }

  __device__ __forceinline__ void multiply(Conv3dMmaSums<V>& sums) const {
    int row_bytes;
    const uint32_t pixels = first_pixel(row_bytes);
    const uint32_t weights = weights_ + stage_ * V::kStageBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Pixels<V> a;
#pragma unroll
      for (int m = 0; m < V::kTilesM; ++m) {
        ldmatrix_x4(a[m], pixels + m * row_bytes + half * (kChunkBytes / 2));
      }
      if constexpr (kIsFloat) {
        multiply_half_split(sums, a, weights + half * kHalfBytes);
      } else {
        multiply_half(sums, a, weights + half * kHalfBytes);
      }
    }
  }

  __device__ __forceinline__ void multiply_half(Conv3dMmaSums<V>& sums, const Pixels<V>& a,
                                                uint32_t weights) const {
#pragma unroll
    for (int pair = 0; pair < V::kTilesN / 2; ++pair) {
      const uint4 b = ptx::load_shared(weights + pair * kWarp * 16);
#pragma unroll
      for (int m = 0; m < V::kTilesM; ++m) {
        mma(sums[m][2 * pair], a[m], b.x, b.y, typename V::Operand{});
      }
#pragma unroll
      for (int m = 0; m < V::kTilesM; ++m) {
        mma(sums[m][2 * pair + 1], a[m], b.z, b.w, typename V::Operand{});
      }
    }
  }

  __device__ __forceinline__ void multiply_half_split(Conv3dMmaSums<V>& sums, const Pixels<V>& a,
                                                      uint32_t weights) const {
    Pixels<V> high;
    Pixels<V> low;
#pragma unroll
    for (int i = 0; i < V::kTilesM * 4; ++i) {
      const Halves halves = split(a[i / 4][i % 4]);
      high[i / 4][i % 4] = halves.high;
      low[i / 4][i % 4] = halves.low;
    }
#pragma unroll
    for (int pair = 0; pair < V::kTilesN / 2; ++pair) {
      const uint4 b = ptx::load_shared(weights + pair * kWarp * 16);
      multiply_split<V>(sums, high, low, 2 * pair, b.x, b.y);
      multiply_split<V>(sums, high, low, 2 * pair + 1, b.z, b.w);
    }
  }

  const Conv3dMmaParams& p_;
  Step step_{};
  uint32_t boxes_;
  uint32_t weights_;
  int stage_ = 0;
  int lane_pixel_;
  int first_row_;
};

template <typename V>
__global__ void __launch_bounds__(V::kThreads, V::kBlocksPerProcessor)
    conv3d_mma_kernel(const __grid_constant__ Conv3dMmaParams p) {
  extern __shared__ uint4 shared_memory[];
  const uint32_t shared = ptx::shared_address(shared_memory);
  const Conv3dMmaTile tile = tile_of(p, V::kRows);
  Loader<V> loader(p, tile, shared);
  Multiplier<V> multiplier(p, shared);
  const Conv3dMmaEpilogue<V> epilogue(p, tile);
  float sums[V::kTilesM][V::kTilesN][4];
  epilogue.start(sums);
  const int steps = (p.kernel_time - p.first_tap) * p.x.chunks * p.kernel_height * p.kernel_width +
                    p.shortcut.chunks;
  for (int step = 0; step < kAhead; ++step) {
    if (step < steps) loader.load_next();
    cp_async_commit();
  }
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<kAhead - 1>();
    __syncthreads();
    if (step + kAhead < steps) loader.load_next();
    cp_async_commit();
    multiplier.multiply_next(sums);
  }
  __syncthreads();  // the rings are free
  epilogue.finish(sums, reinterpret_cast<float*>(shared_memory));
}

struct Start {
  const Conv3dMmaParams& params;
  int64_t tiles;
  int shared_bytes;
  cudaStream_t stream;
};

template <typename V>
cudaError_t start(const Start& at) {
  // Never less for one launch than for another: two threads may start this kernel at once.
  const cudaError_t error = cudaFuncSetAttribute(
      conv3d_mma_kernel<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, kConv3dMmaSharedBytes);
  if (error != cudaSuccess) return error;
  conv3d_mma_kernel<V><<<static_cast<unsigned>(at.tiles), V::kThreads,
                         static_cast<size_t>(at.shared_bytes), at.stream>>>(at.params);
  return cudaGetLastError();
}

template <typename T>
cudaError_t start_for(int64_t block_filters, const Start& at) {
  switch (block_filters) {
    case 16:
      return start<Variant16<T>>(at);
    case 32:
      return start<Variant32<T>>(at);
    case 96:
      return start<Variant96<T>>(at);
    case 192:
      return start<Variant192<T>>(at);
    case 384:
      return start<Variant384<T>>(at);
    default:
      return cudaErrorInvalidValue;
  }
}

template <typename T>
int rows_for(int64_t block_filters) {
  switch (block_filters) {
    case 16:
      return Variant16<T>::kRows;
    case 32:
      return Variant32<T>::kRows;
    case 96:
      return Variant96<T>::kRows;
    case 192:
      return Variant192<T>::kRows;
    default:
      return Variant384<T>::kRows;
  }
}

}  // namespace

int conv3d_mma_rows(DType operands, int64_t block_filters) {
  return operands == DType::kFloat32 ? rows_for<float>(block_filters)
                                     : rows_for<__half>(block_filters);
}

cudaError_t start_conv3d_mma(const Conv3dMmaParams& params, DType operands, int64_t block_filters,
                             int64_t tiles, int shared_bytes, cudaStream_t stream) {
  const Start at = {params, tiles, shared_bytes, stream};
  switch (operands) {
    case DType::kFloat32:
      return start_for<float>(block_filters, at);
    case DType::kFloat16:
      return start_for<__half>(block_filters, at);
    case DType::kBFloat16:
      return start_for<__nv_bfloat16>(block_filters, at);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace zoetrope::cuda
