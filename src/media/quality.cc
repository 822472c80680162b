// SPDX-License-Identifier: Apache-2.0
#include "media/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "base/fail.h"

namespace zoetrope::media {
namespace {

constexpr int kWindow = 11;
constexpr double kSigma = 1.5;
constexpr double kC1 = (0.01 * 255) * (0.01 * 255);
constexpr double kC2 = (0.03 * 255) * (0.03 * 255);

uint8_t to_byte(double value, Range range) {
  const double scaled = range == Range::kSigned ? (value + 1) * 127.5 : value * 255;
  if (!(scaled > 0)) return 0;  // also NaN
  return static_cast<uint8_t>(std::lround(std::min(scaled, 255.0)));
}

// Frame `index` of `frames` as 8-bit (h, w, 3).
void to_bytes(const Frames& frames, int64_t index, std::vector<uint8_t>& bytes) {
  const int64_t plane = frames.height * frames.width;
  const int64_t first = index * 3 * plane;
  const bool planar = frames.format.layout == Layout::kTCHW;
  bytes.resize(static_cast<size_t>(3 * plane));
  for (int64_t i = 0; i < 3 * plane; ++i) {
    const int64_t from = first + (planar ? i % 3 * plane + i / 3 : i);
    const float value = load_as_float(frames.data, frames.format.dtype, from);
    bytes[static_cast<size_t>(i)] = frames.format.range == Range::kBytes
                                        ? static_cast<uint8_t>(value)
                                        : to_byte(value, frames.format.range);
  }
}

std::vector<double> luma_of(const std::vector<uint8_t>& bytes) {
  std::vector<double> luma(bytes.size() / 3);
  for (size_t i = 0; i < luma.size(); ++i) {
    luma[i] = 0.299 * bytes[3 * i] + 0.587 * bytes[3 * i + 1] + 0.114 * bytes[3 * i + 2];
  }
  return luma;
}

std::vector<double> gaussian(int64_t taps) {
  std::vector<double> weights(static_cast<size_t>(taps));
  double sum = 0;
  for (int64_t i = 0; i < taps; ++i) {
    const auto distance = static_cast<double>(i - taps / 2);
    weights[static_cast<size_t>(i)] = std::exp(-distance * distance / (2 * kSigma * kSigma));
    sum += weights[static_cast<size_t>(i)];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Gaussian means of (h, w) values over whole windows only: (h - taps + 1, w - taps + 1).
class WindowMeans {
 public:
  WindowMeans(int64_t height, int64_t width)
      : height_(height),
        width_(width),
        rows_(gaussian(window(height))),
        columns_(gaussian(window(width))) {}

  std::vector<double> operator()(const std::vector<double>& values) const {
    const int64_t out_width = width_ - static_cast<int64_t>(columns_.size()) + 1;
    const int64_t out_height = height_ - static_cast<int64_t>(rows_.size()) + 1;
    std::vector<double> across(static_cast<size_t>(height_ * out_width));
    accumulate(values, {height_, out_width, width_, 1}, columns_, across);
    std::vector<double> means(static_cast<size_t>(out_height * out_width));
    accumulate(across, {out_height, out_width, out_width, out_width}, rows_, means);
    return means;
  }

 private:
  struct Walk {
    int64_t height;  // of the result
    int64_t width;   // of the result
    int64_t row;     // from one row of the input to the next
    int64_t tap;     // from one tap to the next
  };

  static int64_t window(int64_t extent) {
    const int64_t odd = extent % 2 == 0 ? extent - 1 : extent;
    return std::min<int64_t>(kWindow, odd);
  }

  static void accumulate(const std::vector<double>& input, const Walk& walk,
                         const std::vector<double>& weights, std::vector<double>& output) {
    for (int64_t y = 0; y < walk.height; ++y) {
      double* to = output.data() + y * walk.width;
      for (size_t k = 0; k < weights.size(); ++k) {
        const double* from = input.data() + y * walk.row + static_cast<int64_t>(k) * walk.tap;
        for (int64_t x = 0; x < walk.width; ++x) to[x] += weights[k] * from[x];
      }
    }
  }

  int64_t height_;
  int64_t width_;
  std::vector<double> rows_;
  std::vector<double> columns_;
};

std::vector<double> multiply(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> product(a.size());
  for (size_t i = 0; i < a.size(); ++i) product[i] = a[i] * b[i];
  return product;
}

double ssim_of(const std::vector<double>& a, const std::vector<double>& b,
               const WindowMeans& means) {
  const std::vector<double> mean_a = means(a);
  const std::vector<double> mean_b = means(b);
  const std::vector<double> mean_aa = means(multiply(a, a));
  const std::vector<double> mean_bb = means(multiply(b, b));
  const std::vector<double> mean_ab = means(multiply(a, b));
  double sum = 0;
  for (size_t i = 0; i < mean_a.size(); ++i) {
    const double product = mean_a[i] * mean_b[i];
    const double squares = mean_a[i] * mean_a[i] + mean_b[i] * mean_b[i];
    const double variances = mean_aa[i] + mean_bb[i] - squares;
    const double covariance = mean_ab[i] - product;
    sum += (2 * product + kC1) * (2 * covariance + kC2) / ((squares + kC1) * (variances + kC2));
  }
  return sum / static_cast<double>(mean_a.size());
}

}  // namespace

void QualityMeter::add(const Frames& reference, const Frames& other) {
  ZOETROPE_CHECK(reference.count == other.count && reference.height == other.height &&
                     reference.width == other.width,
                 fmt::format("{}x{}x{} against {}x{}x{}", reference.count, reference.width,
                             reference.height, other.count, other.width, other.height));
  for (int64_t i = 0; i < reference.count; ++i) {
    to_bytes(reference, i, reference_);
    to_bytes(other, i, other_);
    add_frame(reference.height, reference.width);
  }
}

void QualityMeter::add_frame(int64_t height, int64_t width) {
  for (size_t i = 0; i < reference_.size(); ++i) {
    const double difference = static_cast<double>(reference_[i]) - other_[i];
    squared_error_ += difference * difference;
  }
  values_ += static_cast<int64_t>(reference_.size());
  ssim_ += ssim_of(luma_of(reference_), luma_of(other_), WindowMeans(height, width));
  ++frames_;
}

Quality QualityMeter::result() const {
  if (frames_ == 0) return {};
  const double mean = squared_error_ / static_cast<double>(values_);
  const double psnr =
      mean == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(255.0 * 255.0 / mean);
  return {frames_, psnr, ssim_ / static_cast<double>(frames_)};
}

}  // namespace zoetrope::media
