// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/scaler.h"

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include "base/fail.h"

namespace zoetrope::media {
namespace {

// Exact rounding, chroma interpolated in full resolution, the same result on every processor.
constexpr int kScalerFlags =
    SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT;

// Of chroma samples between luma samples, in 1/256 of a luma sample.
constexpr int kOnSample = 0;
constexpr int kBetween = 128;
constexpr int kOnNext = 256;

int horizontal_position(AVChromaLocation chroma) {
  const bool between =
      chroma == AVCHROMA_LOC_CENTER || chroma == AVCHROMA_LOC_TOP || chroma == AVCHROMA_LOC_BOTTOM;
  return between ? kBetween : kOnSample;
}

int vertical_position(AVChromaLocation chroma) {
  switch (chroma) {
    case AVCHROMA_LOC_TOPLEFT:
    case AVCHROMA_LOC_TOP:
      return kOnSample;
    case AVCHROMA_LOC_BOTTOMLEFT:
    case AVCHROMA_LOC_BOTTOM:
      return kOnNext;
    default:
      return kBetween;
  }
}

void set_side(SwsContext* scaler, const std::string& prefix, const ScalerSide& side,
              const AVFrame& size) {
  const auto set = [scaler, &prefix](const char* name, int64_t value) {
    av_opt_set_int(scaler, (prefix + name).c_str(), value, 0);
  };
  set("w", size.width);
  set("h", size.height);
  set("_format", side.format);
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(side.format);
  if (description->log2_chroma_w == 1) set("_h_chr_pos", horizontal_position(side.chroma));
  if (description->log2_chroma_h == 1) set("_v_chr_pos", vertical_position(side.chroma));
}

}  // namespace

AvPointer<SwsContext> make_scaler(const std::string& path, const AVFrame& size,
                                  const ScalerSide& from, const ScalerSide& to) {
  AvPointer<SwsContext> scaler(sws_alloc_context());
  if (!scaler) fail(ErrorCode::kOutOfMemory, "{}: no memory to convert its pixels", path);
  set_side(scaler.get(), "src", from, size);
  set_side(scaler.get(), "dst", to, size);
  av_opt_set_int(scaler.get(), "sws_flags", kScalerFlags, 0);
  if (sws_init_context(scaler.get(), nullptr, nullptr) < 0) {
    fail(ErrorCode::kUnsupported, "{}: cannot convert pixels from {} to {}", path,
         av_get_pix_fmt_name(from.format), av_get_pix_fmt_name(to.format));
  }
  // Refused between two RGB formats, which have nothing to set.
  constexpr int kOne = 1 << 16;
  sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(from.coefficients),
                           from.full_range ? 1 : 0, sws_getCoefficients(to.coefficients),
                           to.full_range ? 1 : 0, 0, kOne, kOne);
  return scaler;
}

AvPointer<AVFrame> new_picture(AVPixelFormat format, int64_t height, int64_t width) {
  AvPointer<AVFrame> frame = new_frame();
  frame->format = format;
  frame->width = static_cast<int>(width);
  frame->height = static_cast<int>(height);
  if (av_frame_get_buffer(frame.get(), 64) < 0) {
    fail(ErrorCode::kOutOfMemory, "no memory for a frame of {}x{}", width, height);
  }
  return frame;
}

}  // namespace zoetrope::media
