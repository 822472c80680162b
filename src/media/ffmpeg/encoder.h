// SPDX-License-Identifier: Apache-2.0
// An open FFmpeg encoder.
#pragma once

#include <functional>
#include <string>

#include "media/ffmpeg/av.h"
#include "media/frame_rate.h"

namespace zoetrope::media {

struct EncoderSettings {
  std::string codec;  // FFmpeg's name
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
  AVColorSpace space = AVCOL_SPC_BT709;
  bool full_range = false;
  int64_t height = 0;
  int64_t width = 0;
  FrameRate rate;
  bool global_header = false;       // the container keeps the codec's header
  AVDictionary* options = nullptr;  // the codec's own; consumed
};

class Encoder {
 public:
  // `path` is for messages. Throws kUnsupported, kIo.
  Encoder(std::string path, const EncoderSettings& settings);

  const AVCodecContext& codec() const { return *codec_; }

  // Encodes `frame`, or what is left if null, and hands on the packets, timed in 1 / rate.
  void encode(const AVFrame* frame, const std::function<void(AVPacket*)>& take);

 private:
  std::string path_;
  AvPointer<AVCodecContext> codec_;
  AvPointer<AVPacket> packet_;
};

// `bytes` (h, w, 3) as a frame of its own.
AvPointer<AVFrame> rgb_picture(const void* bytes, int64_t height, int64_t width);

}  // namespace zoetrope::media
