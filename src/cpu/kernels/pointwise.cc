// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/pointwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cpu/kernels/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/pointwise.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "cpu/kernels/elementwise_inl.h"
#include "hwy/highway.h"

#ifndef ZOETROPE_CPU_KERNELS_POINTWISE_ONCE
#define ZOETROPE_CPU_KERNELS_POINTWISE_ONCE
namespace zoetrope::cpu {

// Elements of a work item, about: long against the pool's own work, short against a cache.
constexpr int64_t kItemElements = 16384;
constexpr int64_t kItemBytes = 65536;

// Calls range(first, count) for parts of [0, count) of at most `part`.
template <class Range>
void for_each_part(int64_t count, int64_t part, ThreadPool& pool, const LoopControl& control,
                   const Range& range) {
  pool.run((count + part - 1) / part,
           [&](int64_t item) { range(item * part, std::min(part, count - item * part)); }, control);
}

}  // namespace zoetrope::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace pointwise {
namespace hn = hwy::HWY_NAMESPACE;
using elementwise::FloatTag;
using elementwise::FloatVector;
using elementwise::for_each_vector;
using elementwise::lanes;
using elementwise::norm_scale;

// Lane by lane in the order of channels, two sums in turn, then over the lanes: a fixed order.
template <class T>
float sum_of_squares(const T* x, int64_t count) {
  const FloatTag d;
  FloatVector even = hn::Zero(d);
  FloatVector odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes() <= count; i += 2 * lanes()) {
    const FloatVector first = elementwise::load(x + i);
    const FloatVector second = elementwise::load(x + i + lanes());
    even = hn::MulAdd(first, first, even);
    odd = hn::MulAdd(second, second, odd);
  }
  for_each_vector(count - i, [&](const auto& load, const auto&) HWY_ATTR {
    const FloatVector value = load(x + i);
    even = hn::MulAdd(value, value, even);
  });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

template <class T, bool then_silu>
void rms_norm_pixel(const T* x, const float* gamma, int64_t channels, T* y) {
  const FloatVector scale = hn::Set(FloatTag(), norm_scale(sum_of_squares(x, channels), channels));
  for_each_vector(channels, [&](const auto& load, const auto& store) HWY_ATTR {
    const FloatVector value = hn::Mul(hn::Mul(load(x), scale), load(gamma));
    store(then_silu ? elementwise::silu(value) : value, y);
  });
}

template <class T>
void rms_norm(const void* x, const float* gamma, int64_t pixels, int64_t channels, bool then_silu,
              void* y, ThreadPool& pool, const LoopControl& control) {
  const auto pixel = then_silu ? rms_norm_pixel<T, true> : rms_norm_pixel<T, false>;
  const int64_t part = std::max<int64_t>(1, kItemElements / channels);
  for_each_part(pixels, part, pool, control, [&](int64_t first, int64_t count) {
    for (int64_t i = first * channels; i < (first + count) * channels; i += channels) {
      pixel(static_cast<const T*>(x) + i, gamma, channels, static_cast<T*>(y) + i);
    }
  });
}

template <class T>
void silu_range(const T* x, int64_t count, T* y) {
  for_each_vector(count, [&](const auto& load, const auto& store)
                             HWY_ATTR { store(elementwise::silu(load(x)), y); });
}

template <class T>
void silu(const void* x, int64_t count, void* y, ThreadPool& pool, const LoopControl& control) {
  for_each_part(count, kItemElements, pool, control, [&](int64_t first, int64_t size) {
    silu_range(static_cast<const T*>(x) + first, size, static_cast<T*>(y) + first);
  });
}

template <class T>
void add_range(const T* x, const T* residual, int64_t count, T* y) {
  for_each_vector(count, [&](const auto& load, const auto& store)
                             HWY_ATTR { store(hn::Add(load(x), load(residual)), y); });
}

template <class T>
void add(const void* x, const void* residual, int64_t count, void* y, ThreadPool& pool,
         const LoopControl& control) {
  for_each_part(count, kItemElements, pool, control, [&](int64_t first, int64_t size) {
    add_range(static_cast<const T*>(x) + first, static_cast<const T*>(residual) + first, size,
              static_cast<T*>(y) + first);
  });
}

template <class T>
constexpr PointwiseKernels row(DType operands) {
  return {.target = HWY_TARGET,
          .operands = operands,
          .rms_norm = rms_norm<T>,
          .silu = silu<T>,
          .add = add<T>};
}

}  // namespace pointwise

constexpr PointwiseKernels kPointwiseFloat32 = pointwise::row<float>(DType::kFloat32);
constexpr PointwiseKernels kPointwiseBFloat16 = pointwise::row<uint16_t>(DType::kBFloat16);

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {
namespace {

void copy_bytes(const std::byte* from, int64_t count, std::byte* to) {
  std::memcpy(to, from, static_cast<size_t>(count));
}

}  // namespace

std::span<const PointwiseKernels> pointwise_kernels() {
  static const std::vector<PointwiseKernels> rows = supported_rows<PointwiseKernels>(
      std::to_array<const PointwiseKernels*>(
          {HWY_CHOOSE_TARGET_LIST(kPointwiseFloat32), HWY_CHOOSE_FALLBACK(kPointwiseFloat32),
           HWY_CHOOSE_TARGET_LIST(kPointwiseBFloat16), HWY_CHOOSE_FALLBACK(kPointwiseBFloat16)}),
      hwy::SupportedTargets());
  return rows;
}

void upsample_nearest(const void* x, int64_t frames, int64_t height, int64_t width,
                      int64_t pixel_bytes, void* y, ThreadPool& pool, const LoopControl& control) {
  const int64_t line = width * pixel_bytes;
  const auto upsample_line = [&](int64_t item) {
    const std::byte* from = static_cast<const std::byte*>(x) + item * line;
    std::byte* to = static_cast<std::byte*>(y) + item * 4 * line;
    for (int64_t at = 0; at < line; at += pixel_bytes) {
      copy_bytes(from + at, pixel_bytes, to + 2 * at);
      copy_bytes(from + at, pixel_bytes, to + 2 * at + pixel_bytes);
    }
    copy_bytes(to, 2 * line, to + 2 * line);
  };
  pool.run(frames * height, upsample_line, control);
}

void frame_interleave(const void* x, int64_t frames, int64_t pixels, int64_t half_bytes, void* y,
                      ThreadPool& pool, const LoopControl& control) {
  const int64_t part = std::max<int64_t>(1, kItemBytes / (2 * half_bytes));
  for_each_part(frames * pixels, part, pool, control, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const std::byte* from = static_cast<const std::byte*>(x) + i * 2 * half_bytes;
      std::byte* earlier =
          static_cast<std::byte*>(y) + (i / pixels * 2 * pixels + i % pixels) * half_bytes;
      copy_bytes(from, half_bytes, earlier);
      copy_bytes(from + half_bytes, half_bytes, earlier + pixels * half_bytes);
    }
  });
}

void carry(const void* x, int64_t frames, int64_t frame_bytes, int64_t history_frames,
           void* history) {
  const int64_t fresh = std::min(frames, history_frames);
  const int64_t kept = history_frames - fresh;
  if (fresh == 0) return;
  auto* to = static_cast<std::byte*>(history);
  std::memmove(to, to + fresh * frame_bytes, static_cast<size_t>(kept * frame_bytes));
  copy_bytes(static_cast<const std::byte*>(x) + (frames - fresh) * frame_bytes, fresh * frame_bytes,
             to + kept * frame_bytes);
}

}  // namespace zoetrope::cpu
#endif
