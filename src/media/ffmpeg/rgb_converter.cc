// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/rgb_converter.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <utility>

#include "base/fail.h"
#include "media/ffmpeg/pixel_rows.h"

namespace zoetrope::media {
namespace {

const AVPixFmtDescriptor& describe(const AVFrame& frame) {
  return *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
}

bool is_deep(const AVFrame& frame) { return describe(frame).comp[0].depth > 8; }

// Where stored pixel (0, 0) is shown, and the steps from there, in pixels.
struct Walk {
  int64_t start = 0;
  int64_t down = 0;    // to the stored pixel below
  int64_t across = 1;  // to the stored pixel on the right
};

Walk make_walk(const Orientation& orientation, int64_t height, int64_t width) {
  Walk walk = {0, width, 1};
  if (orientation.flip_x) walk = {walk.start + width - 1, walk.down, -1};
  if (orientation.flip_y) walk = {walk.start + (height - 1) * width, -width, walk.across};
  if (orientation.transpose) std::swap(walk.down, walk.across);
  return walk;
}

void store(float value, uint8_t* destination) {
  *destination = static_cast<uint8_t>(static_cast<int>(value * 510 + 1) / 2);  // to nearest
}

void store(float value, float* destination) { *destination = 2 * value - 1; }

float blend(float value, float alpha, AlphaPolicy policy) {
  if (policy == AlphaPolicy::kDrop) return value;
  const float behind = policy == AlphaPolicy::kWhite ? 1 : 0;
  return value * alpha + behind * (1 - alpha);
}

}  // namespace

RgbConverter::RgbConverter(const ReadOptions& options, const std::string& path,
                           const AVFrame& first, const AVStream& stream)
    : options_(options) {
  settle(path, first, stream);
}

void RgbConverter::settle(const std::string& path, const AVFrame& first, const AVStream& stream) {
  find_source(path, first);
  color_ = source_color_.text;
  if (source_color_.matrix_assumed && options_.notice) {
    options_.notice(
        fmt::format("{}: no colour matrix tag: {} assumed for {} lines (--matrix overrides it)",
                    path, name_of_matrix(untagged_matrix(first.height)), first.height));
  }
  const std::optional<Orientation> orientation = find_orientation(first, stream);
  if (!orientation && options_.notice) {
    options_.notice(fmt::format("{}: turned by less than 90 degrees: read as stored", path));
  }
  orientation_ = orientation.value_or(Orientation{});
  height_ = orientation_.transpose ? first.width : first.height;
  width_ = orientation_.transpose ? first.height : first.width;
  if (is_deep(first)) format_ = {Layout::kTHWC, Range::kSigned, DType::kFloat32};
}

void RgbConverter::check_same(const std::string& path, const AVFrame& frame,
                              const AVStream& stream) const {
  const Orientation orientation = find_orientation(frame, stream).value_or(Orientation{});
  const int64_t height = orientation.transpose ? frame.width : frame.height;
  const int64_t width = orientation.transpose ? frame.height : frame.width;
  if (height != height_ || width != width_) {
    fail(ErrorCode::kIo, "{}: expected frames of {}x{} like the first, found {}x{}", path, width_,
         height_, width, height);
  }
  if (orientation != orientation_) {
    fail(ErrorCode::kIo, "{}: expected frames turned like the first, found another turn", path);
  }
  if (is_deep(frame) != (format_.dtype == DType::kFloat32)) {
    fail(ErrorCode::kIo, "{}: expected {} like the first frame, found {}", path,
         is_deep(frame) ? "8 bits" : "more than 8 bits", describe(frame).name);
  }
}

void RgbConverter::find_source(const std::string& path, const AVFrame& frame) {
  const Source source = {frame.format, frame.colorspace, frame.color_range, frame.color_primaries,
                         frame.color_trc};
  if (source == source_) return;
  source_color_ = find_color(path, frame, options_.matrix);
  source_ = source;
}

void RgbConverter::convert(const std::string& path, const AVFrame& frame, const AVStream& stream,
                           void* destination) {
  find_source(path, frame);
  check_same(path, frame, stream);
  const bool opaque = format_.dtype == DType::kUInt8
                          ? write(frame, static_cast<uint8_t*>(destination))
                          : write(frame, static_cast<float*>(destination));
  if (!opaque && options_.alpha == AlphaPolicy::kRefuse) {
    fail(ErrorCode::kUnsupported,
         "{}: expected opaque pictures, found transparency: choose --alpha drop, black or white",
         path);
  }
}

template <typename Out>
bool RgbConverter::write(const AVFrame& frame, Out* destination) {
  const Walk walk = make_walk(orientation_, height_, width_);
  PixelRows rows(frame, source_color_);
  row_.resize(static_cast<size_t>(frame.width) * 4);
  bool opaque = true;
  for (int y = 0; y < frame.height; ++y) {
    rows.read(y, row_.data());
    Out* to = destination + 3 * (walk.start + y * walk.down);
    for (const float* pixel = row_.data(); pixel != row_.data() + row_.size(); pixel += 4) {
      opaque = opaque && pixel[3] == 1;
      for (int c = 0; c < 3; ++c) store(blend(pixel[c], pixel[3], options_.alpha), to + c);
      to += 3 * walk.across;
    }
  }
  return opaque;
}

}  // namespace zoetrope::media
