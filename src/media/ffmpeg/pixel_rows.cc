// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/pixel_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zoetrope::media {
namespace {

// Where the first chroma sample lies among its 1, 2 or 4 luma samples: on the first, in the middle,
// or on the last.
float first_across(AVChromaLocation location, int log2_step) {
  const bool middle = location == AVCHROMA_LOC_CENTER || location == AVCHROMA_LOC_TOP ||
                      location == AVCHROMA_LOC_BOTTOM;
  return middle ? static_cast<float>((1 << log2_step) - 1) / 2 : 0;  // left if unspecified: MPEG-2
}

float first_down(AVChromaLocation location, int log2_step) {
  const auto last = static_cast<float>((1 << log2_step) - 1);
  switch (location) {
    case AVCHROMA_LOC_TOPLEFT:
    case AVCHROMA_LOC_TOP:
      return 0;
    case AVCHROMA_LOC_BOTTOMLEFT:
    case AVCHROMA_LOC_BOTTOM:
      return last;
    default:
      return last / 2;
  }
}

// Keys' cubic convolution with a = -1/2, IEEE Trans. Acoustics, Speech, Signal Processing 29(6),
// 1981, at `t` from 0 to 1 between the second and the third of four samples.
std::array<float, 4> cubic_weights(float t) {
  const float s = 1 - t;
  return {-t * s * s / 2, (3 * t * t * t - 5 * t * t + 2) / 2, (3 * s * s * s - 5 * s * s + 2) / 2,
          -s * t * t / 2};
}

}  // namespace

PixelRows::PixelRows(const AVFrame& frame, const SourceColor& color)
    : frame_(frame),
      color_(color),
      description_(*av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))),
      across_({description_.log2_chroma_w,
               first_across(frame.chroma_location, description_.log2_chroma_w)}),
      down_({description_.log2_chroma_h,
             first_down(frame.chroma_location, description_.log2_chroma_h)}),
      raw_(static_cast<size_t>(frame.width)) {
  for (int x = 0; x < frame.width; ++x) columns_.push_back(taps_at(across_, x));
}

bool PixelRows::has_alpha(const AVFrame& frame) {
  const AVPixFmtDescriptor* description =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return (description->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)) != 0;
}

PixelRows::Taps PixelRows::taps_at(const Siting& siting, int position) {
  const float at =
      (static_cast<float>(position) - siting.first) / static_cast<float>(1 << siting.log2_step);
  const float whole = std::floor(at);
  return {static_cast<int>(whole) - 1, cubic_weights(at - whole)};
}

int PixelRows::depth_of(int component) const {
  return is_palette() ? 8 : description_.comp[component].depth;
}

// Code values as stored or, for a palette, as it has them.
void PixelRows::read_component(int component, int y, std::vector<float>& values) {
  const bool chroma = color_.kind == ColorKind::kYuv && (component == 1 || component == 2);
  const int width = chroma ? AV_CEIL_RSHIFT(frame_.width, across_.log2_step) : frame_.width;
  const uint8_t* data[4] = {frame_.data[0], frame_.data[1], frame_.data[2], frame_.data[3]};
  av_read_image_line2(raw_.data(), data, frame_.linesize, &description_, 0, y,
                      is_palette() ? 0 : component, width, 0, sizeof(uint16_t));
  if (is_palette()) look_up(component);
  values.assign(raw_.begin(), raw_.begin() + width);
}

// A palette has 256 native words 0xAARRGGBB.
void PixelRows::look_up(int component) {
  static constexpr std::array<int, 4> kShift = {16, 8, 0, 24};
  for (uint16_t& value : raw_) {
    uint32_t color = 0;
    std::memcpy(&color, frame_.data[1] + size_t{4} * value, sizeof(color));
    value = static_cast<uint16_t>(color >> kShift[static_cast<size_t>(component)] & 0xff);
  }
}

// Chroma code values at every luma sample.
void PixelRows::read_chroma(int component, int y, std::vector<float>& values) {
  const int rows = AV_CEIL_RSHIFT(frame_.height, down_.log2_step);
  const Taps taps = taps_at(down_, y);
  sum_.assign(static_cast<size_t>(AV_CEIL_RSHIFT(frame_.width, across_.log2_step)), 0);
  for (int i = 0; i < 4; ++i) {
    const float weight = taps.weights[static_cast<size_t>(i)];
    if (weight == 0) continue;
    read_component(component, std::clamp(taps.first + i, 0, rows - 1), line_);
    for (size_t x = 0; x < sum_.size(); ++x) sum_[x] += weight * line_[x];
  }
  if (across_.log2_step == 0) {
    values = sum_;
    return;
  }
  values.resize(columns_.size());
  const int last = static_cast<int>(sum_.size()) - 1;
  for (size_t x = 0; x < values.size(); ++x) {
    float value = 0;
    for (int i = 0; i < 4; ++i) {
      const int from = std::clamp(columns_[x].first + i, 0, last);
      value += columns_[x].weights[static_cast<size_t>(i)] * sum_[static_cast<size_t>(from)];
    }
    values[x] = value;
  }
}

// ITU-R BT.601 and BT.709: luma Y = red R + green G + blue B and the differences B - Y and R - Y,
// scaled to span one. Limited range has 219 steps of 2^(depth - 8) for luma and 224 for chroma.
void PixelRows::convert_yuv(int y, float* rgba) {
  read_component(0, y, components_[0]);
  read_chroma(1, y, components_[1]);
  read_chroma(2, y, components_[2]);
  const int depth = description_.comp[0].depth;
  const double step = std::ldexp(1.0, depth - 8);
  const double largest = std::ldexp(1.0, depth) - 1;
  const auto black = static_cast<float>(color_.full_range ? 0 : 16 * step);
  const auto middle = static_cast<float>(128 * step);
  const auto luma = static_cast<float>(1 / (color_.full_range ? largest : 219 * step));
  const double chroma = 1 / (color_.full_range ? largest : 224 * step);
  const double green = 1 - color_.weights.red - color_.weights.blue;
  const double red_of_v = 2 * (1 - color_.weights.red) * chroma;
  const double blue_of_u = 2 * (1 - color_.weights.blue) * chroma;
  const auto r = static_cast<float>(red_of_v);
  const auto b = static_cast<float>(blue_of_u);
  const auto g_of_u = static_cast<float>(blue_of_u * color_.weights.blue / green);
  const auto g_of_v = static_cast<float>(red_of_v * color_.weights.red / green);
  for (size_t x = 0; x < components_[0].size(); ++x, rgba += 4) {
    const float light = (components_[0][x] - black) * luma;
    const float u = components_[1][x] - middle;
    const float v = components_[2][x] - middle;
    rgba[0] = std::clamp(light + r * v, 0.0F, 1.0F);
    rgba[1] = std::clamp(light - g_of_u * u - g_of_v * v, 0.0F, 1.0F);
    rgba[2] = std::clamp(light + b * u, 0.0F, 1.0F);
  }
}

// Gray or one of red, green and blue, by its own depth.
void PixelRows::convert_plain(int y, float* rgba) {
  const bool inverted = frame_.format == AV_PIX_FMT_MONOWHITE;
  for (int c = 0; c < 3; ++c) {
    const int component = color_.kind == ColorKind::kGray ? 0 : c;
    read_component(component, y, components_[0]);
    const int depth = depth_of(component);
    const auto largest = static_cast<float>((1 << depth) - 1);
    const float black = color_.full_range ? 0 : std::ldexp(16.0F, depth - 8);
    const float span = color_.full_range ? largest : std::ldexp(219.0F, depth - 8);
    for (size_t x = 0; x < components_[0].size(); ++x) {
      const float value = std::clamp((components_[0][x] - black) / span, 0.0F, 1.0F);
      rgba[4 * x + static_cast<size_t>(c)] = inverted ? 1 - value : value;
    }
  }
}

void PixelRows::read(int y, float* rgba) {
  if (color_.kind == ColorKind::kYuv) {
    convert_yuv(y, rgba);
  } else {
    convert_plain(y, rgba);
  }
  const auto width = static_cast<size_t>(frame_.width);
  if (!has_alpha(frame_)) {
    for (size_t x = 0; x < width; ++x) rgba[4 * x + 3] = 1;
    return;
  }
  const int alpha = is_palette() ? 3 : description_.nb_components - 1;
  const auto opaque = static_cast<float>((1 << depth_of(alpha)) - 1);
  read_component(alpha, y, components_[3]);
  for (size_t x = 0; x < width; ++x) rgba[4 * x + 3] = components_[3][x] / opaque;
}

}  // namespace zoetrope::media
