// SPDX-License-Identifier: Apache-2.0
// The convs' types of operands, and how each multiplies a chunk's weights with tiles of pixels.
// Compiled for each instruction set.

#ifndef ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_ONCE
#define ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_ONCE

#include <cstdint>

#include "base/checked_math.h"
#include "cpu/kernels/conv3d_blocks.h"
#include "cpu/kernels/multiply_bf16.h"
#include "hwy/highway.h"

// What surrounds the products of bfloat16 is compiled for one instruction set: AVX3, or a better
// one if the compiler's baseline has it.
#if HWY_ARCH_X86 && HWY_STATIC_TARGET < HWY_AVX3
#define ZOETROPE_CONV3D_BF16_TARGET HWY_STATIC_TARGET
#elif HWY_ARCH_X86
#define ZOETROPE_CONV3D_BF16_TARGET HWY_AVX3
#else
#define ZOETROPE_CONV3D_BF16_TARGET 0
#endif

namespace zoetrope::cpu {

// How operands are stored (uint16_t holds bfloat16) and multiplied.
struct Float32 {
  using Stored = float;
  static constexpr DType kType = DType::kFloat32;
  static constexpr int64_t kGroup = 1;
  static constexpr int64_t kChunkDepth = 128;
};
// In pairs, by the instruction for them.
struct BFloat16Pairs {
  using Stored = uint16_t;
  static constexpr DType kType = DType::kBFloat16;
  static constexpr int64_t kGroup = 2;
  static constexpr int64_t kChunkDepth = 288;  // three taps of 96 channels: 27 KB of weights
};
// As float32, to which a chunk's weights and a tile's pixels are expanded, exactly.
struct BFloat16Expanded {
  using Stored = uint16_t;
  static constexpr DType kType = DType::kBFloat16;
  static constexpr int64_t kGroup = 2;
  static constexpr int64_t kChunkDepth = 128;
};

// Read in place of pixels outside the image.
template <class T>
alignas(kLineBytes) constexpr T kZeros[BFloat16Pairs::kChunkDepth] = {};

}  // namespace zoetrope::cpu
#endif

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_INL_H_
#undef ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_CONV3D_PRODUCTS_INL_H_
#endif

#include "cpu/kernels/elementwise_inl.h"
#include "cpu/kernels/multiply_inl.h"

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

// totals[i][j] = sums
template <int vectors>
struct StoreTo {
  float* totals;
  HWY_INLINE void operator()(int i, int j, FloatVector sums) const {
    hn::StoreU(sums, FloatTag(), totals + (i * vectors + j) * vector_lanes());
  }
};

// Loads the weights of kGroup channels for one vector of filters.
template <int64_t kGroup>
struct WeightLoader;

template <>
struct WeightLoader<1> {
  HWY_INLINE static void load(const float* from, FloatVector (&to)[1]) {
    to[0] = elementwise::load(from);
  }
};

template <>
struct WeightLoader<2> {  // pairs of bfloat16
  HWY_INLINE static void load(const uint16_t* from, FloatVector (&to)[2]) {
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> d32;
    const auto bits = hn::LoadU(d32, reinterpret_cast<const uint32_t*>(from));
    to[0] = hn::BitCast(d, hn::ShiftLeft<16>(bits));
    to[1] = hn::BitCast(d, hn::And(bits, hn::Set(d32, 0xffff0000U)));
  }
};

// What multiplies a chunk's weights with one tile of pixels after another.
template <class Operands, int vectors>
class Multiplier;

template <int vectors>
class Multiplier<Float32, vectors> {
 public:
  Multiplier(const Conv3dChunk& chunk, const float* panel) : chunk_(chunk), panel_(panel) {}

  // totals (kTileRows, vectors * lanes) += rows x panel
  void add(const float* const* rows, float* totals) const {
    multiply<vectors>(rows, chunk_.taps, chunk_.channels, panel_, AddTo<vectors>{totals});
  }

 private:
  const Conv3dChunk& chunk_;
  const float* const panel_;
};

#if HWY_TARGET == ZOETROPE_CONV3D_BF16_TARGET
template <int vectors>
class Multiplier<BFloat16Pairs, vectors> {
 public:
  static_assert(kTileRows == kBf16TileRows && kMaxLanes == kBf16Lanes);
  Multiplier(const Conv3dChunk& chunk, const uint16_t* panel) : chunk_(chunk), panel_(panel) {}

  void add(const uint16_t* const* rows, float* totals) const {
    multiply_bf16(rows, chunk_.taps, chunk_.channels, panel_, vectors, totals);
  }

 private:
  const Conv3dChunk& chunk_;
  const uint16_t* const panel_;
};

template <int vectors>
class Multiplier<BFloat16Expanded, vectors> {
 public:
  Multiplier(const Conv3dChunk& chunk, const uint16_t* panel) : chunk_(chunk) {
    float* to = panel_;
    for (int64_t tap = 0; tap < chunk.taps; ++tap) {
      for (int64_t c = 0; c < chunk.channels; c += 2, panel += 2 * stride_) {
        const bool second_exists = c + 1 < chunk.channels;
        expand_pairs(panel, second_exists, to);
        to += (second_exists ? 2 : 1) * stride_;
      }
    }
  }

  void add(const uint16_t* const* rows, float* totals) {
    const int64_t row_stride = round_up(chunk_.channels, lanes_);
    const float* expanded[kChunkTaps * kTileRows];
    for (int64_t i = 0; i < chunk_.taps * kTileRows; ++i) {
      float* to = pixels_ + i * row_stride;
      elementwise::for_each_vector(chunk_.channels, [&](const auto& load, const auto& store)
                                                        HWY_ATTR { store(load(rows[i]), to); });
      expanded[i] = to;
    }
    multiply<vectors>(expanded, chunk_.taps, chunk_.channels, panel_, AddTo<vectors>{totals});
  }

 private:
  // Two channels' weights, which alternate in `pairs`, one after the other.
  void expand_pairs(const uint16_t* pairs, bool second_exists, float* to) const {
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> d32;
    for (int64_t i = 0; i < stride_; i += lanes_) {
      const auto bits = hn::LoadU(d32, reinterpret_cast<const uint32_t*>(pairs + 2 * i));
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(bits)), d, to + i);
      if (!second_exists) continue;
      const auto upper = hn::And(bits, hn::Set(d32, 0xffff0000U));
      hn::StoreU(hn::BitCast(d, upper), d, to + stride_ + i);
    }
  }

  const Conv3dChunk& chunk_;
  const int64_t lanes_ = vector_lanes();
  const int64_t stride_ = vectors * lanes_;
  alignas(64) float panel_[BFloat16Expanded::kChunkDepth * vectors * kMaxLanes];
  // Each of a tap's pixels is padded to whole vectors.
  alignas(64) float pixels_[(BFloat16Expanded::kChunkDepth + kChunkTaps * kMaxLanes) * kTileRows];
};
#endif

}  // namespace conv3d
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
