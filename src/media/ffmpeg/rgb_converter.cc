// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/rgb_converter.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <cstring>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "media/ffmpeg/color.h"
#include "media/ffmpeg/scaler.h"

namespace zoetrope::media {
namespace {

const AVPixFmtDescriptor& describe(const AVFrame& frame) {
  return *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
}

bool is_deep(const AVFrame& frame) { return describe(frame).comp[0].depth > 8; }

bool may_be_transparent(const AVFrame& frame) {
  return (describe(frame).flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)) != 0;
}

AVPixelFormat rgb_format(const AVFrame& frame) {
  if (may_be_transparent(frame)) return is_deep(frame) ? AV_PIX_FMT_RGBA64LE : AV_PIX_FMT_RGBA;
  return is_deep(frame) ? AV_PIX_FMT_RGB48LE : AV_PIX_FMT_RGB24;
}

// Stored pixels in the order in which they are shown.
struct Walk {
  const uint8_t* start;
  ptrdiff_t row;    // bytes to the pixel below
  ptrdiff_t pixel;  // bytes to the pixel on the right
};

Walk make_walk(const AVFrame& rgb, const Orientation& orientation, ptrdiff_t pixel_bytes) {
  const ptrdiff_t line = rgb.linesize[0];
  Walk walk = {rgb.data[0], line, pixel_bytes};
  int columns = rgb.width;
  int rows = rgb.height;
  if (orientation.transpose) {
    std::swap(walk.row, walk.pixel);
    std::swap(columns, rows);
  }
  if (orientation.flip_x) {
    walk.start += (columns - 1) * walk.pixel;
    walk.pixel = -walk.pixel;
  }
  if (orientation.flip_y) {
    walk.start += (rows - 1) * walk.row;
    walk.row = -walk.row;
  }
  return walk;
}

void store(uint8_t value, uint8_t* destination) { *destination = value; }

void store(uint16_t value, float* destination) {
  *destination = static_cast<float>(value) / 32767.5F - 1;
}

template <typename T>
T blend(T value, T alpha, AlphaPolicy policy) {
  if (policy == AlphaPolicy::kDrop) return value;
  constexpr uint32_t kOpaque = std::numeric_limits<T>::max();
  const uint32_t behind = policy == AlphaPolicy::kWhite ? kOpaque : 0;
  const uint32_t sum = uint32_t{value} * alpha + behind * (kOpaque - alpha);
  return static_cast<T>((sum + kOpaque / 2) / kOpaque);
}

}  // namespace

RgbConverter::RgbConverter(const ReadOptions& options, const std::string& path,
                           const AVFrame& first, const AVStream& stream)
    : options_(options) {
  settle(path, first, stream);
}

void RgbConverter::settle(const std::string& path, const AVFrame& first, const AVStream& stream) {
  prepare(path, first);
  const std::optional<Orientation> orientation = find_orientation(first, stream);
  if (!orientation && options_.notice) {
    options_.notice(fmt::format("{}: rotated by less than 90 degrees: read as stored", path));
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

void RgbConverter::prepare(const std::string& path, const AVFrame& frame) {
  const Source source = {frame.format,          frame.colorspace, frame.color_range,
                         frame.color_primaries, frame.color_trc,  frame.chroma_location};
  const bool same_size = rgb_ && rgb_->width == frame.width && rgb_->height == frame.height;
  if (scaler_ && same_size && source == source_) return;
  const SourceColor color = find_color(path, frame, options_.matrix);
  if (color.matrix_assumed && color_.empty() && options_.notice) {
    options_.notice(
        fmt::format("{}: no colour matrix tag: {} assumed for {} lines (--matrix "
                    "overrides it)",
                    path, name_of_matrix(untagged_matrix(frame.height)), frame.height));
  }
  if (color_.empty()) color_ = color.text;
  rgb_ = new_picture(rgb_format(frame), frame.height, frame.width);
  scaler_ = make_scaler(path, frame,
                        {.format = static_cast<AVPixelFormat>(frame.format),
                         .coefficients = color.coefficients,
                         .full_range = color.full_range,
                         .chroma = frame.chroma_location},
                        {.format = rgb_format(frame)});
  source_ = source;
}

void RgbConverter::convert(const std::string& path, const AVFrame& frame, const AVStream& stream,
                           void* destination) {
  // Formats that prepare() refuses have no size to compare.
  prepare(path, frame);
  check_same(path, frame, stream);
  const int rows = sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, rgb_->data,
                             rgb_->linesize);
  if (rows != frame.height) fail(ErrorCode::kIo, "{}: cannot convert its pixels", path);
  const bool alpha = may_be_transparent(frame);
  if (format_.dtype == DType::kUInt8) {
    auto* bytes = static_cast<uint8_t*>(destination);
    alpha ? write<uint8_t, 4>(path, bytes) : write<uint8_t, 3>(path, bytes);
  } else {
    auto* values = static_cast<float*>(destination);
    alpha ? write<uint16_t, 4>(path, values) : write<uint16_t, 3>(path, values);
  }
}

template <typename T, int kChannels, typename Out>
void RgbConverter::write(const std::string& path, Out* destination) const {
  const Walk walk = make_walk(*rgb_, orientation_, kChannels * sizeof(T));
  bool opaque = true;
  for (int64_t y = 0; y < height_; ++y) {
    const uint8_t* from = walk.start + y * walk.row;
    for (int64_t x = 0; x < width_; ++x, from += walk.pixel, destination += 3) {
      T pixel[kChannels];
      std::memcpy(pixel, from, sizeof(pixel));
      if constexpr (kChannels == 4) {
        opaque = opaque && pixel[3] == std::numeric_limits<T>::max();
        for (int i = 0; i < 3; ++i) pixel[i] = blend(pixel[i], pixel[3], options_.alpha);
      }
      for (int i = 0; i < 3; ++i) store(pixel[i], destination + i);
    }
  }
  if (!opaque && options_.alpha == AlphaPolicy::kRefuse) {
    fail(ErrorCode::kUnsupported,
         "{}: expected opaque pictures, found transparency: choose --alpha drop, black or white",
         path);
  }
}

}  // namespace zoetrope::media
