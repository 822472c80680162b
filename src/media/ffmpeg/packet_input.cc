// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/packet_input.h"

extern "C" {
#include <libavutil/dict.h>
}

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/fail.h"

namespace zoetrope::media {
namespace {

// FFmpeg gives a frame's position without "FRAME" and its end of line.
constexpr int64_t kY4mFrameMagic = 6;

int refuse_to_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

// One set of decoder options for each stream, for the decoders that FFmpeg opens while it probes.
class ProbeOptions {
 public:
  explicit ProbeOptions(unsigned int streams) : options_(streams, nullptr) {
    for (AVDictionary*& options : options_) {
      av_dict_set_int(&options, "max_pixels", kLargestSide * kLargestSide, 0);
      av_dict_set_int(&options, "threads", 1, 0);
    }
  }
  ~ProbeOptions() {
    for (AVDictionary*& options : options_) av_dict_free(&options);
  }
  ProbeOptions(const ProbeOptions&) = delete;
  ProbeOptions& operator=(const ProbeOptions&) = delete;

  AVDictionary** data() { return options_.empty() ? nullptr : options_.data(); }

 private:
  std::vector<AVDictionary*> options_;
};

}  // namespace

PacketInput::PacketInput(const std::string& path) : path_(path) {
  capture_av_log();
  open_file();
  find_streams();
  check_index();
}

void PacketInput::open_file() {
  const bool pipe = path_ == "-";
  AVIOContext* io = nullptr;
  const std::string url = pipe ? "pipe:0" : "file:" + path_;
  int error = avio_open2(&io, url.c_str(), AVIO_FLAG_READ, nullptr, nullptr);
  io_.reset(io);
  if (error < 0) fail(ErrorCode::kIo, "{}: cannot open: {}", path_, av_reason(error));

  AVFormatContext* format = avformat_alloc_context();
  if (format == nullptr) fail(ErrorCode::kOutOfMemory, "{}: no memory to read it", path_);
  format->pb = io_.get();
  format->io_open = refuse_to_open;
  const AVInputFormat* y4m = pipe ? av_find_input_format("yuv4mpegpipe") : nullptr;
  // Without a name, since FFmpeg would take extensions for hints. It frees `format` if it fails.
  error = avformat_open_input(&format, "", y4m, nullptr);
  if (error < 0) {
    fail(ErrorCode::kIo, "{}: expected {}, found: {}", path_,
         pipe ? "y4m on standard input" : "a video or an image", av_reason(error));
  }
  format_.reset(format);
}

void PacketInput::find_streams() {
  ProbeOptions options(format_->nb_streams);
  const int error = avformat_find_stream_info(format_.get(), options.data());
  if (error < 0) fail(ErrorCode::kIo, "{}: {}", path_, av_reason(error));
  const int index = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  const bool cover =
      index >= 0 && (format_->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  if (index == AVERROR_STREAM_NOT_FOUND || cover) {
    fail(ErrorCode::kIo, "{}: expected a video, found a {} file without a video stream", path_,
         format_->iformat->name);
  }
  if (index < 0) fail(ErrorCode::kIo, "{}: {}", path_, av_reason(index));
  stream_ = format_->streams[index];
  const AVCodecParameters* codec = stream_->codecpar;
  if (codec->width > kLargestSide || codec->height > kLargestSide) {
    fail(ErrorCode::kUnsupported, "{}: expected frames up to {}x{}, found {}x{}", path_,
         kLargestSide, kLargestSide, codec->width, codec->height);
  }
  for (unsigned int i = 0; i < format_->nb_streams; ++i) {
    if (format_->streams[i] != stream_) format_->streams[i]->discard = AVDISCARD_ALL;
  }
}

// An MP4 file with its index at the start tells that it was cut off; reading would just end.
void PacketInput::check_index() const {
  const int64_t size = (io_->seekable & AVIO_SEEKABLE_NORMAL) != 0 ? avio_size(io_.get()) : -1;
  if (size <= 0 || !std::string_view(format_->iformat->name).starts_with("mov,")) return;
  const int entries = avformat_index_get_entries_count(stream_);
  int64_t needed = 0;
  for (int i = 0; i < entries; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(stream_, i);
    if (entry->pos > INT64_MAX - entry->size) continue;
    needed = std::max(needed, entry->pos + entry->size);
  }
  if (needed > size) {
    fail(ErrorCode::kIo, "{}: truncated: its index needs {} bytes, found {}", path_, needed, size);
  }
}

bool PacketInput::is_image() const {
  const std::string_view name = format_->iformat->name;
  return name.ends_with("_pipe") || name == "image2";
}

bool PacketInput::read(AVPacket* packet) {
  while (true) {
    av_packet_unref(packet);
    const int error = av_read_frame(format_.get(), packet);
    if (error == AVERROR_EOF) {
      check_last_frame();
      return false;
    }
    if (error < 0) fail(ErrorCode::kIo, "{}: {}", path_, av_reason(error));
    if (packet->stream_index != stream_->index) continue;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) {
      fail(ErrorCode::kIo, "{}: corrupt or cut off{}", path_,
           packet->pos < 0 ? "" : fmt::format(" at byte {}", packet->pos));
    }
    if (is_y4m()) last_frame_end_ = packet->pos + kY4mFrameMagic + packet->size;
    return true;
  }
}

bool PacketInput::is_y4m() const {
  return std::string_view(format_->iformat->name) == "yuv4mpegpipe";
}

// FFmpeg takes a y4m frame that stops halfway, as when the program before a pipe dies, for the end.
void PacketInput::check_last_frame() const {
  if (!is_y4m() || last_frame_end_ < 0) return;
  const int64_t left = avio_tell(io_.get()) - last_frame_end_;
  if (left <= 0) return;
  fail(ErrorCode::kIo, "{}: cut off: the last frame has only {} bytes", path_, left);
}

}  // namespace zoetrope::media
