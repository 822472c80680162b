// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/packet_input.h"

extern "C" {
#include <libavutil/dict.h>
#include <libavutil/mathematics.h>
#include <libavutil/parseutils.h>
}

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "media/container_end.h"
#include "media/video.h"

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

// Microseconds that the header gives the stream or, less exactly, the longest of all streams; 0 if
// none. Matroska has the former as text, "00:00:02.000000000".
int64_t promised_duration(const AVFormatContext& format, const AVStream& stream) {
  const AVDictionaryEntry* tag = av_dict_get(stream.metadata, "DURATION", nullptr, 0);
  int64_t duration = 0;
  if (tag != nullptr && av_parse_time(&duration, tag->value, 1) >= 0) return duration;
  // Else FFmpeg measured it, in what is there.
  const bool recorded = format.duration_estimation_method == AVFMT_DURATION_FROM_STREAM;
  return recorded ? format.duration : 0;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return path != "-" && std::filesystem::is_regular_file(path, error);
}

// FFmpeg's name of a file's format, which a failed attempt to open it does not tell; "" if unknown.
std::string probe(std::span<const std::byte> file) {
  constexpr size_t kProbed = 1 << 16;
  std::vector<unsigned char> start(std::min(kProbed, file.size()) + AVPROBE_PADDING_SIZE);
  std::memcpy(start.data(), file.data(), start.size() - AVPROBE_PADDING_SIZE);
  AVProbeData data = {};
  data.filename = "";
  data.buf = start.data();
  data.buf_size = static_cast<int>(start.size() - AVPROBE_PADDING_SIZE);
  const AVInputFormat* format = av_probe_input_format(&data, 1);
  return format == nullptr ? "" : format->name;
}

// For a file that cannot be read at all, for `reason`: says so if its end is missing.
void check_not_cut(const std::string& path, const std::string& reason) {
  if (!is_file(path)) return;
  const MappedFile file(path);
  const std::string cut = find_cut(file.bytes(), probe(file.bytes()));
  if (cut.empty()) return;
  fail(ErrorCode::kIo,
       "{}: seems cut off, {}: get the whole file again: this part of it cannot be read ({})", path,
       cut, reason);
}

}  // namespace

PacketInput::PacketInput(const std::string& path)
    : path_(path), log_(std::make_unique<ErrorLog>()) {
  capture_av_log();
  open_file();
  find_streams();
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
  format->opaque = log_.get();
  format->io_open = refuse_to_open;
  const AVInputFormat* y4m = pipe ? av_find_input_format("yuv4mpegpipe") : nullptr;
  // Without a name, since FFmpeg would take extensions for hints. It frees `format` if it fails.
  error = avformat_open_input(&format, "", y4m, nullptr);
  if (error < 0) {
    check_not_cut(path_, av_reason(error));
    fail(ErrorCode::kIo, "{}: expected {}, found: {}", path_,
         pipe ? "y4m on standard input" : "a video or an image", av_reason(error));
  }
  format_.reset(format);
}

void PacketInput::find_streams() {
  ProbeOptions options(format_->nb_streams);
  const int error = avformat_find_stream_info(format_.get(), options.data());
  if (error < 0) {
    check_not_cut(path_, av_reason(error));
    fail(ErrorCode::kIo, "{}: {}", path_, av_reason(error));
  }
  const int index = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  const bool cover =
      index >= 0 && (format_->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  if (index == AVERROR_STREAM_NOT_FOUND || cover) {
    check_not_cut(path_, "no video stream");
    fail(ErrorCode::kIo, "{}: expected a video, found a {} file without a video stream", path_,
         format_->iformat->name);
  }
  if (index < 0) fail(ErrorCode::kIo, "{}: {}", path_, av_reason(index));
  stream_ = format_->streams[index];
  const AVCodecParameters* codec = stream_->codecpar;
  if (codec->codec_id == AV_CODEC_ID_NONE) check_not_cut(path_, "an unknown codec");
  if (codec->width > kLargestSide || codec->height > kLargestSide) {
    fail(ErrorCode::kUnsupported, "{}: expected frames up to {}x{}, found {}x{}", path_,
         kLargestSide, kLargestSide, codec->width, codec->height);
  }
  for (unsigned int i = 0; i < format_->nb_streams; ++i) {
    if (format_->streams[i] != stream_) format_->streams[i]->discard = AVDISCARD_ALL;
  }
}

bool PacketInput::is_image() const {
  const std::string_view name = format_->iformat->name;
  return name.ends_with("_pipe") || name == "image2";
}

bool PacketInput::read(AVPacket* packet) {
  while (true) {
    av_packet_unref(packet);
    log_->clear();
    const int error = av_read_frame(format_.get(), packet);
    if (error == AVERROR_EOF) {
      check_whole();
      return false;
    }
    if (error < 0) refuse(av_reason(error));
    if (packet->stream_index != stream_->index) continue;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) {
      refuse(packet->pos < 0 ? "damaged data" : fmt::format("damage at byte {}", packet->pos));
    }
    if ((packet->flags & AV_PKT_FLAG_DISCARD) == 0) ++frames_;
    if (is_y4m()) last_frame_end_ = packet->pos + kY4mFrameMagic + packet->size;
    return true;
  }
}

// FFmpeg counts those of a GIF itself, in what is there.
int64_t PacketInput::recorded_frames() const {
  return std::string_view(format_->iformat->name) == "gif" ? 0 : stream_->nb_frames;
}

std::string PacketInput::describe_count(int64_t frames) const {
  const int64_t recorded = recorded_frames();
  const int64_t promised = recorded > 0 ? recorded : frames_in_duration();
  const auto plural = [](int64_t count) { return count == 1 ? "" : "s"; };
  if (promised <= frames) return fmt::format("{} frame{}", frames, plural(frames));
  return fmt::format("{} of {}{} frame{}", frames, recorded > 0 ? "" : "about ", promised,
                     plural(promised));
}

int64_t PacketInput::frames_in_duration() const {
  const int64_t duration = promised_duration(*format_, *stream_);
  const AVRational rate = stream_->avg_frame_rate;
  if (duration <= 0 || rate.num <= 0 || rate.den <= 0) return 0;
  return av_rescale_q(duration, {1, AV_TIME_BASE}, av_inv_q(rate));
}

bool PacketInput::is_y4m() const {
  return std::string_view(format_->iformat->name) == "yuv4mpegpipe";
}

// FFmpeg takes a y4m frame that stops halfway, as when the program before a pipe dies, for the end.
std::string PacketInput::find_short_frame() const {
  if (!is_y4m() || last_frame_end_ < 0) return "";
  const int64_t left = avio_tell(io_.get()) - last_frame_end_;
  return left <= 0 ? "" : fmt::format("the next one has only {} bytes", left);
}

// An MP4 file whose index lies before its data.
std::string PacketInput::find_short_index(int64_t size) const {
  if (!std::string_view(format_->iformat->name).starts_with("mov,")) return "";
  const int entries = avformat_index_get_entries_count(stream_);
  int64_t needed = 0;
  for (int i = 0; i < entries; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(stream_, i);
    if (entry->pos > INT64_MAX - entry->size) continue;
    needed = std::max(needed, entry->pos + entry->size);
  }
  return needed <= size ? ""
                        : fmt::format("its index needs {} bytes, the file has {}", needed, size);
}

// What shows that the rest of the file is missing, or nothing.
std::string PacketInput::find_cut_off() const {
  if (is_y4m()) return find_short_frame();
  if (!is_file(path_)) return "";
  const MappedFile file(path_);
  const std::string index = find_short_index(static_cast<int64_t>(file.bytes().size()));
  return index.empty() ? find_cut(file.bytes(), format_->iformat->name) : index;
}

// At the end of the stream.
void PacketInput::check_whole() const {
  // A Matroska file that was written to a pipe records no lengths; its demuxer alone notices. Other
  // demuxers complain about whole files, too.
  const bool matroska = std::string_view(format_->iformat->name) == "matroska,webm";
  const std::string logged = matroska ? log_->first_error() : "";
  if (logged.empty() && find_cut_off().empty()) return;
  // Only an index or a trailer may be missing, which is no loss.
  if (recorded_frames() > 0 && frames_ >= recorded_frames()) return;
  refuse(logged);
}

void PacketInput::refuse(const std::string& damage) const {
  const std::string cut = find_cut_off();
  fail(ErrorCode::kIo,
       "{}: {} after {}: {}: get the whole file, or keep what is there with `ffmpeg -i IN -c copy "
       "OUT.mkv`",
       path_, cut.empty() ? "corrupt or cut off" : "cut off", describe_count(frames_),
       cut.empty() ? damage : cut);
}

}  // namespace zoetrope::media
