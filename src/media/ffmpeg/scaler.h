// SPDX-License-Identifier: Apache-2.0
// swscale, set up to convert RGB to what encoders take. It is not used for reading: its 16-bit RGB
// has white at 65280, and its 8-bit RGB wraps around for YUV far out of range.
#pragma once

#include <string>

#include "media/ffmpeg/av.h"

namespace zoetrope::media {

struct ScalerSide {
  AVPixelFormat format = AV_PIX_FMT_RGB24;
  int coefficients = SWS_CS_ITU709;  // SWS_CS_, of YUV formats
  bool full_range = true;
  AVChromaLocation chroma = AVCHROMA_LOC_UNSPECIFIED;  // unspecified: left, as MPEG-2 and later
};

// Between frames of one size. `path` is for messages. Throws kUnsupported.
AvPointer<SwsContext> make_scaler(const std::string& path, const AVFrame& size,
                                  const ScalerSide& from, const ScalerSide& to);

// A frame with memory of its own, with room behind its rows, since vector code may touch it.
AvPointer<AVFrame> new_picture(AVPixelFormat format, int64_t height, int64_t width);

}  // namespace zoetrope::media
