// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "cli/interrupt.h"
#include "media/file_kind.h"
#include "media/latent_file.h"

namespace zoetrope::cli {
namespace {

// Sums over pairs of values.
class Differences {
 public:
  void add(double value, double reference) {
    const double error = std::abs(value - reference);
    max_error_ = std::isfinite(error) ? std::max(max_error_, error)
                                      : std::numeric_limits<double>::infinity();
    if (std::isfinite(reference)) largest_ = std::max(largest_, std::abs(reference));
    squares_ += error * error;
    count_ += 1;
  }

  double largest() const { return largest_; }

  Comparison result(const std::string& reference, double tolerance, double peak) const {
    Comparison comparison;
    comparison.reference = reference;
    comparison.max_error = max_error_;
    comparison.largest = largest_;
    comparison.rms_error = count_ > 0 ? std::sqrt(squares_ / count_) : 0;
    comparison.psnr = 20 * std::log10(peak / comparison.rms_error);
    comparison.tolerance = tolerance;
    comparison.match = max_error_ <= tolerance * largest_;
    return comparison;
  }

 private:
  double max_error_ = 0;
  double largest_ = 0;
  double squares_ = 0;
  double count_ = 0;
};

// Latent frames, or video frames, read at a time.
constexpr int64_t kBlock = 4;

// Reads the frames of a video as floats from -1 to 1 in the order [T, H, W, C].
class SignedFrames {
 public:
  explicit SignedFrames(media::VideoReader& reader) : reader_(reader) {
    const media::VideoInfo& info = reader_.info();
    bytes_.resize(
        static_cast<size_t>(kBlock * media::frame_bytes(info.format, info.height, info.width)));
  }

  int64_t read() { return reader_.read(kBlock, bytes_.data()); }

  // Value of channel `c` of pixel `pixel` of frame `frame` of the last block.
  double at(int64_t frame, int64_t pixel, int64_t c) const {
    const media::VideoInfo& info = reader_.info();
    const int64_t pixels = info.height * info.width;
    const int64_t index = info.format.layout == Layout::kTHWC ? (frame * pixels + pixel) * 3 + c
                                                              : (frame * 3 + c) * pixels + pixel;
    const double value = load_as_float(bytes_.data(), info.format.dtype, index);
    switch (info.format.range) {
      case Range::kBytes:
        return value / 127.5 - 1;
      case Range::kUnit:
        return 2 * value - 1;
      case Range::kSigned:
        break;
    }
    return value;
  }

 private:
  media::VideoReader& reader_;
  std::vector<std::byte> bytes_;
};

std::unique_ptr<media::VideoReader> open_output(const std::string& output) {
  media::ReadOptions options;
  const media::FileKind kind = media::classify_video_output(output);
  const bool array = kind == media::FileKind::kNpy || kind == media::FileKind::kSafetensors;
  if (array) options.array_range = Range::kSigned;  // as written, whatever the values
  return media::open_video_reader(output, options);
}

Comparison incomparable(const std::string& reference, double tolerance,
                        const std::string& problem) {
  Comparison comparison;
  comparison.reference = reference;
  comparison.max_error = std::numeric_limits<double>::infinity();
  comparison.tolerance = tolerance;
  comparison.problem = problem;
  return comparison;
}

constexpr const char* kOtherFrames = "another number of frames";

}  // namespace

Comparison compare_latents(const std::string& output, const std::string& reference,
                           double tolerance) {
  const auto left = media::open_latent_reader(output, {});
  const media::LatentInfo& a = left->info();
  const auto right = media::open_latent_reader(reference, {a.scale, {}});
  const media::LatentInfo& b = right->info();
  if (a.channels != b.channels || a.frames != b.frames || a.height != b.height ||
      a.width != b.width) {
    return incomparable(
        reference, tolerance,
        fmt::format("expected latents [{},{},{},{}], found [{},{},{},{}]", b.channels, b.frames,
                    b.height, b.width, a.channels, a.frames, a.height, a.width));
  }
  const int64_t values = a.channels * kBlock * a.height * a.width;
  std::vector<float> left_values(static_cast<size_t>(values));
  std::vector<float> right_values(static_cast<size_t>(values));
  Differences differences;
  for (int64_t n = 0; (n = left->read(kBlock, left_values.data())) > 0;) {
    check_interrupted();
    if (right->read(kBlock, right_values.data()) != n) {
      return incomparable(reference, tolerance, kOtherFrames);
    }
    for (int64_t i = 0; i < values / kBlock * n; ++i) {
      differences.add(left_values[static_cast<size_t>(i)], right_values[static_cast<size_t>(i)]);
    }
  }
  return differences.result(reference, tolerance, differences.largest());
}

Comparison compare_videos(const std::string& output, const std::string& reference,
                          double tolerance) {
  const auto left = open_output(output);
  const auto right = media::open_video_reader(reference, {});
  const media::VideoInfo& a = left->info();
  const media::VideoInfo& b = right->info();
  if (a.height != b.height || a.width != b.width) {
    return incomparable(
        reference, tolerance,
        fmt::format("expected {}x{} pixels, found {}x{}", b.width, b.height, a.width, a.height));
  }
  SignedFrames left_frames(*left);
  SignedFrames right_frames(*right);
  Differences differences;
  for (;;) {
    check_interrupted();
    const int64_t n = left_frames.read();
    if (right_frames.read() != n) {
      return incomparable(reference, tolerance, kOtherFrames);
    }
    if (n == 0) break;
    for (int64_t i = 0; i < n * a.height * a.width * 3; ++i) {
      const int64_t frame = i / (a.height * a.width * 3);
      const int64_t pixel = i / 3 % (a.height * a.width);
      differences.add(left_frames.at(frame, pixel, i % 3), right_frames.at(frame, pixel, i % 3));
    }
  }
  return differences.result(reference, tolerance, 2);
}

}  // namespace zoetrope::cli
