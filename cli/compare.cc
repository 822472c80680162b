// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "base/fail.h"
#include "cli/interrupt.h"
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

// Arrays hold what was written or is expected, whatever the values.
std::unique_ptr<media::VideoReader> open_video(const std::string& path) {
  media::ReadOptions options;
  options.array_any_value = true;
  return media::open_video_reader(path, options);
}

std::unique_ptr<media::LatentReader> open_latents(const std::string& path, LatentScale scale) {
  return media::open_latent_reader(path, {.scale = scale, .any_value = true});
}

std::string describe(const Extent& extent) {
  const std::string frames = extent.frames ? fmt::format("{} frames of ", *extent.frames) : "";
  return fmt::format("{}{}x{} with {} channels", frames, extent.width, extent.height,
                     extent.channels);
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

Reference Reference::latents(const std::string& path, LatentScale scale) {
  Reference reference;
  reference.path_ = path;
  reference.scale_ = scale;
  const media::LatentInfo info = open_latents(path, scale)->info();
  reference.extent_ = {info.channels, info.frames, info.height, info.width};
  return reference;
}

Reference Reference::video(const std::string& path) {
  Reference reference;
  reference.path_ = path;
  const media::VideoInfo info = open_video(path)->info();
  reference.extent_.height = info.height;
  reference.extent_.width = info.width;
  if (info.frames_exact) reference.extent_.frames = info.frames;
  return reference;
}

std::optional<Comparison> Reference::foresee(const Extent& output, double tolerance) const {
  const bool sizes = output.channels == extent_.channels && output.height == extent_.height &&
                     output.width == extent_.width;
  const bool known = output.frames && extent_.frames;
  if (sizes && (!known || *output.frames == *extent_.frames)) return std::nullopt;
  return incomparable(path_, tolerance,
                      fmt::format("expected {}, found {}", describe(extent_), describe(output)));
}

Comparison Reference::compare(const std::string& output, double tolerance) const {
  return scale_ ? compare_latents(output, tolerance) : compare_videos(output, tolerance);
}

Comparison Reference::compare_latents(const std::string& output, double tolerance) const {
  const auto left = open_latents(output, *scale_);
  const auto right = open_latents(path_, *scale_);
  const media::LatentInfo& a = left->info();
  const auto unlike = foresee({a.channels, a.frames, a.height, a.width}, tolerance);
  if (unlike) return *unlike;
  const int64_t values = a.channels * kBlock * a.height * a.width;
  std::vector<float> left_values(static_cast<size_t>(values));
  std::vector<float> right_values(static_cast<size_t>(values));
  Differences differences;
  for (int64_t n = 0; (n = left->read(kBlock, left_values.data())) > 0;) {
    check_interrupted();
    if (right->read(kBlock, right_values.data()) != n) {
      return incomparable(path_, tolerance, kOtherFrames);
    }
    for (int64_t i = 0; i < values / kBlock * n; ++i) {
      differences.add(left_values[static_cast<size_t>(i)], right_values[static_cast<size_t>(i)]);
    }
  }
  return differences.result(path_, tolerance, differences.largest());
}

Comparison Reference::compare_videos(const std::string& output, double tolerance) const {
  const auto left = open_video(output);
  const auto right = open_video(path_);
  const media::VideoInfo& a = left->info();
  const auto unlike = foresee({.height = a.height, .width = a.width}, tolerance);
  if (unlike) return *unlike;
  SignedFrames left_frames(*left);
  SignedFrames right_frames(*right);
  Differences differences;
  for (;;) {
    check_interrupted();
    const int64_t n = left_frames.read();
    if (right_frames.read() != n) return incomparable(path_, tolerance, kOtherFrames);
    if (n == 0) break;
    for (int64_t i = 0; i < n * a.height * a.width * 3; ++i) {
      const int64_t frame = i / (a.height * a.width * 3);
      const int64_t pixel = i / 3 % (a.height * a.width);
      differences.add(left_frames.at(frame, pixel, i % 3), right_frames.at(frame, pixel, i % 3));
    }
  }
  return differences.result(path_, tolerance, 2);
}

}  // namespace zoetrope::cli
