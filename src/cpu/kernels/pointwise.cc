// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
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

// Lane by lane in the order of channels, two sums in turn, then over the lanes: a fixed order.
float sum_of_squares(const float* x, int64_t count) {
  const FloatTag d;
  FloatVector even = hn::Zero(d);
  FloatVector odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes() <= count; i += 2 * lanes()) {
    const FloatVector first = hn::LoadU(d, x + i);
    const FloatVector second = hn::LoadU(d, x + i + lanes());
    even = hn::MulAdd(first, first, even);
    odd = hn::MulAdd(second, second, odd);
  }
  for_each_vector(count - i, [&](const auto& load, const auto&) HWY_ATTR {
    const FloatVector value = load(x + i);
    even = hn::MulAdd(value, value, even);
  });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

template <bool then_silu>
void rms_norm_pixel(const float* x, const float* gamma, int64_t channels, float* y) {
  const float norm = std::sqrt(sum_of_squares(x, channels));
  const float divisor = norm < 1e-12F ? 1e-12F : norm;  // NaN stays
  const FloatVector scale = hn::Set(FloatTag(), std::sqrt(static_cast<float>(channels)) / divisor);
  for_each_vector(channels, [&](const auto& load, const auto& store) HWY_ATTR {
    const FloatVector value = hn::Mul(hn::Mul(load(x), scale), load(gamma));
    store(then_silu ? elementwise::silu(value) : value, y);
  });
}

void rms_norm(const float* x, const float* gamma, int64_t pixels, int64_t channels, bool then_silu,
              float* y, ThreadPool& pool, const LoopControl& control) {
  const auto pixel = then_silu ? rms_norm_pixel<true> : rms_norm_pixel<false>;
  const int64_t part = std::max<int64_t>(1, kItemElements / channels);
  for_each_part(pixels, part, pool, control, [&](int64_t first, int64_t count) {
    for (int64_t i = first * channels; i < (first + count) * channels; i += channels) {
      pixel(x + i, gamma, channels, y + i);
    }
  });
}

void silu_range(const float* x, int64_t count, float* y) {
  for_each_vector(count, [&](const auto& load, const auto& store)
                             HWY_ATTR { store(elementwise::silu(load(x)), y); });
}

void silu(const float* x, int64_t count, float* y, ThreadPool& pool, const LoopControl& control) {
  for_each_part(count, kItemElements, pool, control,
                [&](int64_t first, int64_t size) { silu_range(x + first, size, y + first); });
}

void add_range(const float* x, const float* residual, int64_t count, float* y) {
  for_each_vector(count, [&](const auto& load, const auto& store)
                             HWY_ATTR { store(hn::Add(load(x), load(residual)), y); });
}

void add(const float* x, const float* residual, int64_t count, float* y, ThreadPool& pool,
         const LoopControl& control) {
  for_each_part(count, kItemElements, pool, control, [&](int64_t first, int64_t size) {
    add_range(x + first, residual + first, size, y + first);
  });
}

}  // namespace pointwise

constexpr PointwiseKernels kPointwiseRow = {.target = HWY_TARGET,
                                            .rms_norm = pointwise::rms_norm,
                                            .silu = pointwise::silu,
                                            .add = pointwise::add};

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {
namespace {

void copy_floats(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

std::span<const PointwiseKernels> pointwise_kernels() {
  static const std::vector<PointwiseKernels> rows = supported_rows<PointwiseKernels>(
      std::to_array<const PointwiseKernels*>(
          {HWY_CHOOSE_TARGET_LIST(kPointwiseRow), HWY_CHOOSE_FALLBACK(kPointwiseRow)}),
      hwy::SupportedTargets());
  return rows;
}

void upsample_nearest(const float* x, int64_t frames, int64_t height, int64_t width,
                      int64_t channels, float* y, ThreadPool& pool, const LoopControl& control) {
  const int64_t line = width * channels;
  const auto upsample_line = [&](int64_t item) {
    const float* from = x + item * line;
    float* to = y + item * 4 * line;
    for (int64_t column = 0; column < width; ++column) {
      copy_floats(from + column * channels, channels, to + 2 * column * channels);
      copy_floats(from + column * channels, channels, to + (2 * column + 1) * channels);
    }
    copy_floats(to, 2 * line, to + 2 * line);
  };
  pool.run(frames * height, upsample_line, control);
}

void frame_interleave(const float* x, int64_t frames, int64_t pixels, int64_t channels, float* y,
                      ThreadPool& pool, const LoopControl& control) {
  const int64_t part = std::max<int64_t>(1, kItemElements / (2 * channels));
  for_each_part(frames * pixels, part, pool, control, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const float* from = x + i * 2 * channels;
      float* earlier = y + (i / pixels * 2 * pixels + i % pixels) * channels;
      copy_floats(from, channels, earlier);
      copy_floats(from + channels, channels, earlier + pixels * channels);
    }
  });
}

void carry(const float* x, int64_t frames, int64_t frame_size, int64_t history_frames,
           float* history) {
  const int64_t fresh = std::min(frames, history_frames);
  const int64_t kept = history_frames - fresh;
  if (fresh == 0) return;
  std::memmove(history, history + fresh * frame_size,
               static_cast<size_t>(kept * frame_size) * sizeof(float));
  copy_floats(x + (frames - fresh) * frame_size, fresh * frame_size, history + kept * frame_size);
}

}  // namespace zoetrope::cpu
#endif
