// SPDX-License-Identifier: Apache-2.0
// Rows of a decoded frame, in any pixel format, as RGB in float.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

extern "C" {
#include <libavutil/pixdesc.h>
}

#include "media/ffmpeg/av.h"
#include "media/ffmpeg/color.h"

namespace zoetrope::media {

class PixelRows {
 public:
  // Reads `frame` while it lives.
  PixelRows(const AVFrame& frame, const SourceColor& color);

  static bool has_alpha(const AVFrame& frame);

  // Row `y` as (w, 4): red, green and blue from 0 to 1, clamped, and alpha, 1 if there is none.
  void read(int y, float* rgba);

 private:
  // How to find a chroma sample's value at every luma sample, along one axis.
  struct Siting {
    int log2_step = 0;  // luma samples from one chroma sample to the next
    float first = 0;    // luma position of the first chroma sample
  };
  // Chroma samples first .. first + 3 and their weights.
  struct Taps {
    int first = 0;
    std::array<float, 4> weights = {};
  };

  static Taps taps_at(const Siting& siting, int position);
  bool is_palette() const { return (description_.flags & AV_PIX_FMT_FLAG_PAL) != 0; }
  int depth_of(int component) const;
  void read_component(int component, int y, std::vector<float>& values);
  void look_up(int component);
  void read_chroma(int component, int y, std::vector<float>& values);
  void convert_yuv(int y, float* rgba);
  void convert_plain(int y, float* rgba);

  const AVFrame& frame_;
  const SourceColor& color_;
  const AVPixFmtDescriptor& description_;
  Siting across_;
  Siting down_;
  std::vector<uint16_t> raw_;                     // one line of a component
  std::vector<float> line_;                       // one line of chroma, not yet interpolated
  std::vector<float> sum_;                        // interpolated down, not yet across
  std::array<std::vector<float>, 4> components_;  // one line each, from 0 to 1 or as code values
  std::vector<Taps> columns_;
};

}  // namespace zoetrope::media
