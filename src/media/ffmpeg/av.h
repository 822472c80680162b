// SPDX-License-Identifier: Apache-2.0
// Ownership and errors of FFmpeg's C interface.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <mutex>
#include <string>

#include "media/frame_rate.h"

namespace zoetrope::media {

struct AvDelete {
  void operator()(AVFormatContext* format) const;  // one that reads
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVIOContext* io) const;
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};

template <typename T>
using AvPointer = std::unique_ptr<T, AvDelete>;

// Throw kOutOfMemory if FFmpeg has none.
AvPointer<AVFrame> new_frame();
AvPointer<AVPacket> new_packet();

inline AVRational to_rational(const FrameRate& rate) {
  return {static_cast<int>(rate.num), static_cast<int>(rate.den)};
}

// Sends FFmpeg's log to a string for each thread instead of standard error. Everything that calls
// FFmpeg starts with it, since a library does not print.
void capture_av_log();

// The first error that a decoder or demuxer logged, from any of its threads. Decoders that hide
// damage, by repeating an older picture, and demuxers that take a cut for the end say so in no
// other way. An AVCodecContext or AVFormatContext names it as its `opaque`.
class ErrorLog {
 public:
  void add(const std::string& error);
  std::string first_error() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::string first_error_;
};

// `error` in words, with the last error that FFmpeg logged on this thread, which is often the only
// useful part ("moov atom not found"). One line; forgets the logged error.
std::string av_reason(int error);

}  // namespace zoetrope::media
