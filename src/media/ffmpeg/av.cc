// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/av.h"

extern "C" {
#include <libavutil/error.h>
#include <libavutil/log.h>
}

#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "base/fail.h"

namespace zoetrope::media {
namespace {

std::string& last_logged() {
  thread_local std::string text;
  return text;
}

ErrorLog* log_of(void* source) {
  if (source == nullptr) return nullptr;
  const AVClass* av_class = *static_cast<const AVClass**>(source);
  void* log = nullptr;
  if (av_class == avcodec_get_class()) log = static_cast<AVCodecContext*>(source)->opaque;
  if (av_class == avformat_get_class()) log = static_cast<AVFormatContext*>(source)->opaque;
  return static_cast<ErrorLog*>(log);
}

void keep_error(void* source, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  std::array<char, 512> text = {};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string line = text.data();
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  const size_t end = line.find_last_not_of(" .");
  line.resize(end == std::string::npos ? 0 : end + 1);
  if (line.empty()) return;
  if (ErrorLog* log = log_of(source)) log->add(line);
  last_logged() = std::move(line);
}

}  // namespace

void AvDelete::operator()(AVFormatContext* format) const { avformat_close_input(&format); }

void AvDelete::operator()(AVIOContext* io) const { avio_closep(&io); }

void ErrorLog::add(const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (first_error_.empty()) first_error_ = error;
}

std::string ErrorLog::first_error() const {
  const std::lock_guard lock(mutex_);
  return first_error_;
}

void ErrorLog::clear() {
  const std::lock_guard lock(mutex_);
  first_error_.clear();
}

AvPointer<AVFrame> new_frame() {
  AvPointer<AVFrame> frame(av_frame_alloc());
  if (!frame) fail(ErrorCode::kOutOfMemory, "no memory for a video frame");
  return frame;
}

AvPointer<AVPacket> new_packet() {
  AvPointer<AVPacket> packet(av_packet_alloc());
  if (!packet) fail(ErrorCode::kOutOfMemory, "no memory for a video packet");
  return packet;
}

void capture_av_log() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(keep_error); });
  last_logged().clear();
}

std::string av_reason(int error) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text = {};
  av_strerror(error, text.data(), text.size());
  const std::string logged = std::exchange(last_logged(), {});
  return logged.empty() ? text.data() : fmt::format("{} ({})", text.data(), logged);
}

}  // namespace zoetrope::media
