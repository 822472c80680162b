// SPDX-License-Identifier: Apache-2.0
#include "media/frame_scaler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/dtype.h"
#include "base/fail.h"

namespace zoetrope::media {
namespace {

constexpr double kLobes = 3;

double sinc(double x) {
  if (x == 0) return 1;
  const double angle = std::numbers::pi * x;
  return std::sin(angle) / angle;
}

double lanczos(double x) { return std::abs(x) < kLobes ? sinc(x) * sinc(x / kLobes) : 0; }

}  // namespace

FrameScaler::FrameScaler(const VideoFormat& format, const FrameSize& from, const FrameSize& to)
    : source_type_(format.dtype),
      format_(format),
      from_(from),
      to_(to),
      channels_(format.layout == Layout::kTHWC ? 3 : 1),
      down_(taps_of(from.height, to.height)),
      across_(taps_of(from.width, to.width)) {
  ZOETROPE_CHECK(format.layout != Layout::kCTHW, "media keeps frames whole");
  if (format_.dtype != DType::kUInt8) format_.dtype = DType::kFloat32;
  for (const Taps& taps : down_) {
    kept_rows_ = std::max(kept_rows_, static_cast<int64_t>(taps.weights.size()));
  }
  const int64_t row = from_.width * channels_;
  rows_.resize(static_cast<size_t>(kept_rows_ * row));
  sum_.resize(static_cast<size_t>(row));
}

// Pixel i of n lies at (i + 1/2) / n of the axis.
std::vector<FrameScaler::Taps> FrameScaler::taps_of(int64_t from, int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(ratio, 1.0);
  std::vector<Taps> all(static_cast<size_t>(to));
  std::vector<double> weights;
  for (size_t i = 0; i < all.size(); ++i) {
    const double center = (static_cast<double>(i) + 0.5) * ratio - 0.5;
    const auto first = static_cast<int64_t>(std::ceil(center - kLobes * width));
    const auto last = static_cast<int64_t>(std::floor(center + kLobes * width));
    all[i].first = std::clamp<int64_t>(first, 0, from - 1);
    double sum = 0;
    weights.clear();
    for (int64_t k = all[i].first; k <= std::clamp<int64_t>(last, 0, from - 1); ++k) {
      weights.push_back(lanczos((static_cast<double>(k) - center) / width));
      sum += weights.back();
    }
    for (const double weight : weights) all[i].weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

void FrameScaler::scale(const void* from, void* to) {
  find_bounds(static_cast<const std::byte*>(from));
  const int64_t planes = 3 / channels_;
  const int64_t source = frame_bytes({format_.layout, format_.range, source_type_}, from_) / planes;
  const int64_t result = frame_bytes(format_, to_) / planes;
  for (int64_t plane = 0; plane < planes; ++plane) {
    scale_plane(static_cast<const std::byte*>(from) + plane * source,
                static_cast<std::byte*>(to) + plane * result);
  }
}

void FrameScaler::find_bounds(const std::byte* frame) {
  least_ = format_.range == Range::kSigned ? -1.0F : 0.0F;
  largest_ = format_.range == Range::kBytes ? 255.0F : 1.0F;
  if (source_type_ == DType::kUInt8) return;
  const auto row = static_cast<int64_t>(sum_.size());
  for (int64_t y = 0; y < from_.height * (3 / channels_); ++y) {
    convert_to_float(frame + y * row * size_of(source_type_), source_type_, row, sum_.data());
    const auto [least, largest] = std::ranges::minmax(sum_);
    least_ = std::min(least_, least);
    largest_ = std::max(largest_, largest);
  }
}

void FrameScaler::scale_plane(const std::byte* from, std::byte* to) {
  next_row_ = 0;
  const int64_t row = to_.width * channels_ * size_of(format_.dtype);
  for (size_t y = 0; y < down_.size(); ++y) {
    add_rows(from, down_[y]);
    write_row(to + static_cast<int64_t>(y) * row);
  }
}

// Rows are asked for in a window that moves down, so each is converted once.
const float* FrameScaler::source_row(const std::byte* plane, int64_t y) {
  const int64_t row = from_.width * channels_;
  for (; next_row_ <= y; ++next_row_) {
    convert_to_float(plane + next_row_ * row * size_of(source_type_), source_type_, row,
                     rows_.data() + next_row_ % kept_rows_ * row);
  }
  return rows_.data() + y % kept_rows_ * row;
}

void FrameScaler::add_rows(const std::byte* plane, const Taps& taps) {
  std::fill(sum_.begin(), sum_.end(), 0.0F);
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const float* row = source_row(plane, taps.first + static_cast<int64_t>(k));
    const float weight = taps.weights[k];
    for (size_t x = 0; x < sum_.size(); ++x) sum_[x] += weight * row[x];
  }
}

void FrameScaler::write_row(std::byte* to) {
  int64_t at = 0;
  for (const Taps& taps : across_) {
    const float* pixel = sum_.data() + taps.first * channels_;
    for (int64_t c = 0; c < channels_; ++c, ++at) {
      float value = 0;
      for (size_t k = 0; k < taps.weights.size(); ++k) {
        value += taps.weights[k] * pixel[static_cast<int64_t>(k) * channels_ + c];
      }
      value = std::clamp(value, least_, largest_);
      if (format_.dtype == DType::kUInt8) {
        to[at] = static_cast<std::byte>(static_cast<int>(2 * value + 1) / 2);  // to nearest
      } else {
        store_from_float(to, DType::kFloat32, at, value);
      }
    }
  }
}

}  // namespace zoetrope::media
