// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"
#include "checkpoint/safetensors.h"
#include "media/array_video.h"
#include "media/npy.h"
#include "media/tensor_source.h"

namespace zoetrope::media {
namespace {

TensorSource open_source(const std::string& path) {
  if (looks_like_npy(path)) return open_npy_tensor(path);
  const auto file = open_safetensors(path);
  const auto& tensors = file->tensors();
  if (tensors.contains("video")) return safetensors_tensor(file, "video");
  if (tensors.size() != 1) {
    fail(ErrorCode::kIo, "{}: expected a tensor named video or one tensor only, found {} tensors",
         path, tensors.size());
  }
  return safetensors_tensor(file, tensors.begin()->first);
}

const char* axes_of(Layout layout) {
  switch (layout) {
    case Layout::kTHWC:
      return "[T, H, W, 3]";
    case Layout::kTCHW:
      return "[T, 3, H, W]";
    case Layout::kCTHW:
      break;
  }
  return "[3, T, H, W]";
}

class ArrayReader final : public VideoReader {
 public:
  ArrayReader(const std::string& path, const ReadOptions& options)
      : source_(open_source(path)), layout_(choose_layout(options)) {
    read_shape();
    choose_frames(options.range);
    say_if_short(path, options.range, frames_, options.notice);
    info_.format.layout = layout_ == Layout::kCTHW ? Layout::kTCHW : layout_;
    info_.format.range = choose_range(options);
    info_.format.dtype = source_.dtype == DType::kFloat64 ? DType::kFloat32 : source_.dtype;
    info_.rate = options.rate.value_or(FrameRate{});
    info_.rate_known = options.rate.has_value();
    info_.color = "rgb";
    if (!info_.rate_known && frames_ > 1 && options.notice) {
      options.notice(fmt::format("{}: no frame rate: {} assumed (--fps sets it)", path,
                                 to_string(info_.rate)));
    }
  }

  int64_t read(int64_t count, void* frames) override {
    const int64_t n = std::min(count, end_ - next_);
    const int64_t bytes = frame_bytes(info_.format, info_.height, info_.width);
    for (int64_t i = 0; i < n; ++i) {
      read_frame(next_ + i, static_cast<std::byte*>(frames) + i * bytes);
    }
    next_ += n;
    return n;
  }

 private:
  bool is_bytes() const { return source_.dtype == DType::kUInt8; }

  Layout choose_layout(const ReadOptions& options) const {
    if (!is_bytes() && !is_floating(source_.dtype)) {
      fail(ErrorCode::kUnsupported, "{}: expected a floating type or uint8, found {}", source_.name,
           name_of(source_.dtype));
    }
    return options.array_layout.value_or(is_bytes() ? Layout::kTHWC : Layout::kCTHW);
  }

  void read_shape() {
    std::vector<int64_t>& shape = source_.shape;
    if (shape.size() == 5 && shape[0] == 1) shape.erase(shape.begin());
    const size_t channel_axis = layout_ == Layout::kTHWC ? 3 : layout_ == Layout::kTCHW ? 1 : 0;
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (shape.size() != 4 || empty || shape[channel_axis] != 3) {
      fail(ErrorCode::kIo, "{}: expected a video {}, found {}: --layout names another order",
           source_.name, axes_of(layout_), zoetrope::to_string(shape));
    }
    frames_ = shape[layout_ == Layout::kCTHW ? 1 : 0];
    info_.height = shape[layout_ == Layout::kTHWC ? 1 : 2];
    info_.width = shape[layout_ == Layout::kTHWC ? 2 : 3];
  }

  Range choose_range(const ReadOptions& options) const {
    const Range range = options.array_range.value_or(is_bytes() ? Range::kBytes : Range::kSigned);
    if ((range == Range::kBytes) != is_bytes()) {
      fail(ErrorCode::kInvalidArgument, "{}: --range {} does not fit values of type {}",
           source_.name, range == Range::kBytes ? "bytes" : "signed or unit",
           name_of(source_.dtype));
    }
    if (is_bytes() || options.array_any_value) return range;
    const ValueScan scan = scan_values(source_, [this](int64_t index) { return is_read(index); });
    check_finite(source_, scan);
    if (!options.array_range && scan.least == 0) {
      fail(ErrorCode::kInvalidArgument,
           "{}: expected values from -1 to 1, found none below 0: say --range unit if they are 0 "
           "to 1, --range signed if not",
           source_.name);
    }
    say_if_far_outside(scan, range, options.notice);
    return range;
  }

  // Values a little outside come from decoders and are good; no picture has those far outside.
  void say_if_far_outside(const ValueScan& scan, Range range, const Notice& notice) const {
    constexpr float kLeast = -2;
    constexpr float kLargest = 2;
    const bool unit = range == Range::kUnit;
    const bool far = scan.least < (unit ? kLeast + 1 : kLeast) || scan.largest > kLargest;
    if (!notice || !far) return;
    notice(
        fmt::format("{}: values from {} to {} are taken as they are, for {} to 1 (--range): "
                    "scale them if that is not meant",
                    source_.name, scan.least, scan.largest, unit ? 0 : -1));
  }

  // The value is of one of the frames that were asked for.
  bool is_read(int64_t index) const {
    const int64_t plane = info_.height * info_.width;
    const int64_t frame = layout_ == Layout::kCTHW ? index / plane % frames_ : index / (3 * plane);
    return frame >= next_ && frame < end_;
  }

  void choose_frames(const FrameRange& range) {
    if (range.begin >= frames_) {
      fail(ErrorCode::kInvalidArgument, "{}: frames from {} on: the video has {}", source_.name,
           range.begin, frames_);
    }
    next_ = range.begin;
    end_ = std::min(frames_, range.end.value_or(frames_));
    info_.frames = end_ - next_;
    info_.frames_exact = true;
  }

  void read_frame(int64_t frame, std::byte* destination) {
    const int64_t plane = info_.height * info_.width;
    if (layout_ != Layout::kCTHW) {
      copy(frame * 3 * plane, 3 * plane, destination);
      return;
    }
    for (int64_t channel = 0; channel < 3; ++channel) {
      copy((channel * frames_ + frame) * plane, plane,
           destination + channel * plane * size_of(info_.format.dtype));
    }
  }

  void copy(int64_t first, int64_t count, std::byte* destination) {
    const auto offset = static_cast<size_t>(first * size_of(source_.dtype));
    const auto size = static_cast<size_t>(count * size_of(source_.dtype));
    const std::byte* data = source_.bytes.data() + offset;
    if (source_.dtype == info_.format.dtype) {
      std::memcpy(destination, data, size);
    } else {
      values_.resize(static_cast<size_t>(count));
      convert_to_float(data, source_.dtype, count, values_.data());
      std::memcpy(destination, values_.data(), values_.size() * sizeof(float));
    }
    source_.release(offset, size);
  }

  TensorSource source_;
  Layout layout_;
  int64_t frames_ = 0;  // of the file
  int64_t next_ = 0;
  int64_t end_ = 0;
  std::vector<float> values_;
};

}  // namespace

std::unique_ptr<VideoReader> open_array_reader(const std::string& path,
                                               const ReadOptions& options) {
  return std::make_unique<ArrayReader>(path, options);
}

}  // namespace zoetrope::media
