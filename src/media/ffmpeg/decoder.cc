// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/decoder.h"

#include "base/fail.h"
#include "media/video.h"

namespace zoetrope::media {
namespace {

constexpr int kThreads = 4;  // the model needs the machine more than the decoder does

AvPointer<AVCodecContext> open_codec(const PacketInput& input, ErrorLog* log) {
  const AVCodecParameters* parameters = input.stream()->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  if (codec == nullptr) {
    fail(ErrorCode::kUnsupported, "{}: this FFmpeg has no decoder for {}", input.path(),
         avcodec_get_name(parameters->codec_id));
  }
  AvPointer<AVCodecContext> context(avcodec_alloc_context3(codec));
  if (!context) fail(ErrorCode::kOutOfMemory, "{}: no memory to decode it", input.path());
  int error = avcodec_parameters_to_context(context.get(), parameters);
  context->pkt_timebase = input.stream()->time_base;
  context->opaque = log;
  context->thread_count = kThreads;
  context->max_pixels = kLargestSide * kLargestSide;
  context->err_recognition = AV_EF_CRCCHECK;
  if (error >= 0) error = avcodec_open2(context.get(), codec, nullptr);
  if (error < 0) {
    fail(ErrorCode::kIo, "{}: cannot decode {}: {}", input.path(), codec->name, av_reason(error));
  }
  return context;
}

}  // namespace

Decoder::Decoder(const std::string& path)
    : input_(path),
      log_(std::make_unique<ErrorLog>()),
      codec_(open_codec(input_, log_.get())),
      packet_(new_packet()) {}

void Decoder::refuse(const std::string& reason) const {
  fail(ErrorCode::kIo,
       "{}: corrupt after {}: {}: `ffmpeg -i IN -c:v ffv1 OUT.mkv` hides the damage", input_.path(),
       input_.describe_count(frames_), reason);
}

void Decoder::send_packet() {
  const bool more = input_.read(packet_.get());
  const int error = avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr);
  if (error < 0 && error != AVERROR_EOF) refuse(av_reason(error));
}

AvPointer<AVFrame> Decoder::next() {
  AvPointer<AVFrame> frame = new_frame();
  while (true) {
    const int error = avcodec_receive_frame(codec_.get(), frame.get());
    if (error == AVERROR_EOF) return nullptr;
    if (error == AVERROR(EAGAIN)) {
      send_packet();
      continue;
    }
    if (error < 0) refuse(av_reason(error));
    const bool flagged = (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0;
    const std::string logged = log_->first_error();
    if (!logged.empty()) refuse(logged);
    if (flagged || frame->decode_error_flags != 0) refuse("damaged pictures");
    ++frames_;
    return frame;
  }
}

}  // namespace zoetrope::media
