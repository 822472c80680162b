// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/encoder.h"

extern "C" {
#include <libavutil/dict.h>
}

#include <cstring>
#include <utility>

#include "base/fail.h"
#include "media/ffmpeg/scaler.h"

namespace zoetrope::media {
namespace {

void set_fields(AVCodecContext& codec, const EncoderSettings& settings) {
  codec.width = static_cast<int>(settings.width);
  codec.height = static_cast<int>(settings.height);
  codec.pix_fmt = settings.format;
  codec.framerate = to_rational(settings.rate);
  codec.time_base = av_inv_q(codec.framerate);
  codec.sample_aspect_ratio = {1, 1};
  codec.colorspace = settings.space;
  codec.color_range = settings.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  if (settings.space != AVCOL_SPC_RGB) {  // a PNG would get a gamma that pictures seldom have
    codec.color_primaries = AVCOL_PRI_BT709;
    codec.color_trc = AVCOL_TRC_BT709;
  }
  if (settings.format == AV_PIX_FMT_YUV420P) codec.chroma_sample_location = AVCHROMA_LOC_LEFT;
  if (settings.global_header) codec.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  codec.flags |= AV_CODEC_FLAG_BITEXACT;
}

}  // namespace

Encoder::Encoder(std::string path, const EncoderSettings& settings)
    : path_(std::move(path)), packet_(new_packet()) {
  AVDictionary* options = settings.options;
  const AVCodec* codec = avcodec_find_encoder_by_name(settings.codec.c_str());
  if (codec == nullptr) {
    av_dict_free(&options);
    fail(ErrorCode::kUnsupported, "{}: this FFmpeg has no encoder {}: write .mkv, .png or .npy",
         path_, settings.codec);
  }
  codec_.reset(avcodec_alloc_context3(codec));
  if (!codec_) fail(ErrorCode::kOutOfMemory, "{}: no memory to encode it", path_);
  set_fields(*codec_, settings);
  const int error = avcodec_open2(codec_.get(), codec, &options);
  av_dict_free(&options);
  if (error < 0) {
    fail(ErrorCode::kUnsupported, "{}: cannot encode {} frames of {}x{}: {}", path_, settings.codec,
         settings.width, settings.height, av_reason(error));
  }
}

void Encoder::encode(const AVFrame* frame, const std::function<void(AVPacket*)>& take) {
  int error = avcodec_send_frame(codec_.get(), frame);
  while (error >= 0) {
    error = avcodec_receive_packet(codec_.get(), packet_.get());
    if (error >= 0) take(packet_.get());
  }
  if (error != AVERROR(EAGAIN) && error != AVERROR_EOF) {
    fail(ErrorCode::kIo, "{}: cannot encode: {}", path_, av_reason(error));
  }
}

AvPointer<AVFrame> rgb_picture(const void* bytes, int64_t height, int64_t width) {
  AvPointer<AVFrame> frame = new_picture(AV_PIX_FMT_RGB24, height, width);
  for (int64_t y = 0; y < height; ++y) {
    std::memcpy(frame->data[0] + y * frame->linesize[0],
                static_cast<const uint8_t*>(bytes) + y * 3 * width, static_cast<size_t>(3 * width));
  }
  return frame;
}

}  // namespace zoetrope::media
