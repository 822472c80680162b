// SPDX-License-Identifier: Apache-2.0
// Decoded frames to RGB, upright, as readers deliver them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/ffmpeg/av.h"
#include "media/ffmpeg/color.h"
#include "media/ffmpeg/orientation.h"
#include "media/video.h"

namespace zoetrope::media {

// The first frame settles size and format: uint8 for sources of up to 8 bits, float32 in [-1, 1]
// for deeper ones. Later frames may change their colours, but not those.
class RgbConverter {
 public:
  RgbConverter(const ReadOptions& options, const std::string& path, const AVFrame& first,
               const AVStream& stream);

  int64_t height() const { return height_; }  // as shown
  int64_t width() const { return width_; }
  const VideoFormat& format() const { return format_; }
  const std::string& color() const { return color_; }

  // `path` is for messages: in a folder, that of the image. Throws kIo if the size or depth differs
  // from the first frame's, kUnsupported.
  void convert(const std::string& path, const AVFrame& frame, const AVStream& stream,
               void* destination);

 private:
  // What a frame's colours depend on.
  struct Source {
    int format = AV_PIX_FMT_NONE;
    AVColorSpace space = AVCOL_SPC_UNSPECIFIED;
    AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
    AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
    AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
    bool operator==(const Source&) const = default;
  };

  void settle(const std::string& path, const AVFrame& first, const AVStream& stream);
  void check_same(const std::string& path, const AVFrame& frame, const AVStream& stream) const;
  void find_source(const std::string& path, const AVFrame& frame);
  // Returns false if a pixel is transparent.
  template <typename Out>
  bool write(const AVFrame& frame, Out* destination);

  ReadOptions options_;
  VideoFormat format_;
  int64_t height_ = 0;
  int64_t width_ = 0;
  std::string color_;
  Orientation orientation_;
  Source source_;
  SourceColor source_color_;
  std::vector<float> row_;  // (w, 4)
};

}  // namespace zoetrope::media
