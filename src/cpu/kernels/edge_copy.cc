// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/edge_copy.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/dtype.h"
#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

// How elements of each type are read and written; any alignment.
struct Float32 {
  using Stored = float;
  static float read(Stored value) { return value; }
  static Stored write(float value) { return value; }
};
struct Float16 {
  using Stored = uint16_t;
  static float read(Stored value) { return float16_to_float(value); }
  static Stored write(float value) { return float_to_float16(value); }
};
struct BFloat16 {
  using Stored = uint16_t;
  static float read(Stored value) { return bfloat16_to_float(value); }
  static Stored write(float value) { return float_to_bfloat16(value); }
};
// Already scaled to 0 .. 255 by Channel.
struct UInt8 {
  using Stored = uint8_t;
  static float read(Stored value) { return static_cast<float>(value); }
  static Stored write(float value) {
    if (!(value > 0.0F)) return 0;  // NaN too
    if (value >= 255.0F) return 255;
    return static_cast<Stored>(std::nearbyint(value));
  }
};

// One channel of one row of pixels.
struct Channel {
  const std::byte* from;
  std::byte* to;
  int64_t from_stride;  // between pixels, in bytes
  int64_t to_stride;
  int64_t width;
  Range from_range;
  Range to_range;
  float scale;
  float offset;
  bool clamp;
};

float to_signed(float value, Range range) {
  switch (range) {
    case Range::kSigned:
      return value;
    case Range::kUnit:
      return value * 2.0F - 1.0F;
    case Range::kBytes:
      return value / 127.5F - 1.0F;
  }
  return value;
}

float from_signed(float value, Range range) {
  switch (range) {
    case Range::kSigned:
      return value;
    case Range::kUnit:
      return (value + 1.0F) * 0.5F;
    case Range::kBytes:
      return (value + 1.0F) * 127.5F;
  }
  return value;
}

// Returns how many values are NaN or infinite before they are clamped.
template <class From, class To>
int64_t copy_channel(const Channel& channel) {
  int64_t not_finite = 0;
  for (int64_t i = 0; i < channel.width; ++i) {
    typename From::Stored in;
    std::memcpy(&in, channel.from + i * channel.from_stride, sizeof(in));
    float value = to_signed(From::read(in), channel.from_range);
    value = value * channel.scale + channel.offset;
    not_finite += std::abs(value) <= std::numeric_limits<float>::max() ? 0 : 1;
    if (channel.clamp) value = std::clamp(value, -1.0F, 1.0F);  // NaN stays
    const typename To::Stored out = To::write(from_signed(value, channel.to_range));
    std::memcpy(channel.to + i * channel.to_stride, &out, sizeof(out));
  }
  return not_finite;
}

using CopyChannel = int64_t (*)(const Channel&);

template <class From>
CopyChannel copy_to(DType to) {
  switch (to) {
    case DType::kFloat32:
      return copy_channel<From, Float32>;
    case DType::kFloat16:
      return copy_channel<From, Float16>;
    case DType::kBFloat16:
      return copy_channel<From, BFloat16>;
    case DType::kUInt8:
      return copy_channel<From, UInt8>;
    default:
      fail(ErrorCode::kUnsupported,
           "edge copy: cannot write {}; use float32, float16, bfloat16 or uint8", name_of(to));
  }
}

CopyChannel copy_from_to(DType from, DType to) {
  switch (from) {
    case DType::kFloat32:
      return copy_to<Float32>(to);
    case DType::kFloat16:
      return copy_to<Float16>(to);
    case DType::kBFloat16:
      return copy_to<BFloat16>(to);
    case DType::kUInt8:
      return copy_to<UInt8>(to);
    default:
      fail(ErrorCode::kUnsupported,
           "edge copy: cannot read {}; use float32, float16, bfloat16 or uint8", name_of(from));
  }
}

void check(const EdgeCopyArgs& args) {
  const auto channels = static_cast<size_t>(args.shape[3]);
  for (const std::span<const float> values : {args.scale, args.offset}) {
    ZOETROPE_CHECK(
        values.empty() || values.size() == channels,
        std::to_string(values.size()) + " values for " + std::to_string(channels) + " channels");
  }
  ZOETROPE_CHECK((args.from.dtype == DType::kUInt8) == (args.from_range == Range::kBytes) &&
                     (args.to.dtype == DType::kUInt8) == (args.to_range == Range::kBytes),
                 "uint8 and Range::kBytes go together");
}

// Rows are copied by several threads at once.
void add(NotFiniteTally& tally, int64_t frame, int64_t values) {
  std::atomic_ref(tally.values).fetch_add(static_cast<uint64_t>(values));
  const uint64_t left = NotFiniteTally::kEnd - static_cast<uint64_t>(frame);
  const std::atomic_ref most(tally.left);
  for (uint64_t now = most.load(); now < left && !most.compare_exchange_weak(now, left);) {
  }
}

}  // namespace

void edge_copy(const EdgeCopyArgs& args, ThreadPool& pool, const LoopControl& control) {
  check(args);
  const CopyChannel copy = copy_from_to(args.from.dtype, args.to.dtype);
  const int64_t from_size = size_of(args.from.dtype);
  const int64_t to_size = size_of(args.to.dtype);
  const auto [frames, height, width, channels] = args.shape;
  const auto copy_row = [&args, copy, from_size, to_size, rows = height, columns = width,
                         last = channels](int64_t item) {
    const auto offset_of = [&](const StridedTensor& tensor, int64_t c) {
      return item / rows * tensor.strides[0] + item % rows * tensor.strides[1] +
             c * tensor.strides[3];
    };
    int64_t not_finite = 0;
    for (int64_t c = 0; c < last; ++c) {
      const auto index = static_cast<size_t>(c);
      not_finite +=
          copy({.from = static_cast<const std::byte*>(args.from.data) +
                        offset_of(args.from, c) * from_size,
                .to = static_cast<std::byte*>(args.to.data) + offset_of(args.to, c) * to_size,
                .from_stride = args.from.strides[2] * from_size,
                .to_stride = args.to.strides[2] * to_size,
                .width = columns,
                .from_range = args.from_range,
                .to_range = args.to_range,
                .scale = args.scale.empty() ? 1.0F : args.scale[index],
                .offset = args.offset.empty() ? -0.0F : args.offset[index],  // -0: keeps -0
                .clamp = args.clamp});
    }
    if (args.tally != nullptr && not_finite > 0) {
      add(*args.tally, args.first_frame + item / rows, not_finite);
    }
  };
  pool.run(frames * height, copy_row, control);
}

}  // namespace zoetrope::cpu
