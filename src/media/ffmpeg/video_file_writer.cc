// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <string>

#include "base/fail.h"
#include "base/output_file.h"
#include "media/ffmpeg/color.h"
#include "media/ffmpeg/encoder.h"
#include "media/ffmpeg/scaler.h"
#include "media/pictures.h"

extern "C" {
#include <libavutil/dict.h>
}

namespace zoetrope::media {
namespace {

constexpr const char* kQuality = "16";  // x264's crf: no loss that can be seen, a tenth of lossless

struct Target {
  const char* container;  // FFmpeg's names
  const char* codec;
  AVPixelFormat format;
  Matrix matrix = Matrix::kBt709;
};

// H.264 and y4m halve chroma, which frames of odd size do not allow.
AVPixelFormat yuv_format(const WriteOptions& options) {
  const bool even = options.width % 2 == 0 && options.height % 2 == 0;
  return even ? AV_PIX_FMT_YUV420P : AV_PIX_FMT_YUV444P;
}

Target choose_target(const std::string& path, const WriteOptions& options) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".mkv") return {"matroska", "ffv1", AV_PIX_FMT_BGR0};
  if (extension == ".mp4") return {"mp4", "libx264", yuv_format(options)};
  // y4m has no tag for the matrix: what readers assume is the only right choice.
  return {"yuv4mpegpipe", "wrapped_avframe", yuv_format(options), untagged_matrix(options.height)};
}

AVDictionary* codec_options(const Target& target, const WriteOptions& options) {
  AVDictionary* codec = nullptr;
  if (std::string(target.codec) == "libx264") {
    av_dict_set(&codec, "crf", kQuality, 0);
    av_dict_set(&codec, "preset", "medium", 0);
  } else if (std::string(target.codec) == "ffv1") {
    // Version 3 cuts frames into slices with a checksum each; FFmpeg's loses tiny ones.
    const bool tiny = options.width < 8 || options.height < 8;
    av_dict_set(&codec, "level", tiny ? "1" : "3", 0);
    av_dict_set(&codec, "slicecrc", tiny ? "0" : "1", 0);
  }
  return codec;
}

struct OutputDelete {
  void operator()(AVFormatContext* format) const {
    avio_closep(&format->pb);
    avformat_free_context(format);
  }
};

class VideoFileWriter final : public VideoWriter {
 public:
  VideoFileWriter(const std::string& path, const WriteOptions& options)
      : name_(path == "-" ? "standard output" : path),
        options_(options),
        target_(choose_target(path, options)) {
    capture_av_log();
    check_size();
    if (path != "-") output_.emplace(path);
    open_container();
    encoder_.emplace(name_, encoder_settings());
    add_stream();
    open_scaler();
    if (options.notice) say_what_is_odd();
  }

  void write(int64_t count, const void* frames) override {
    const int64_t bytes = frame_bytes(format_, options_.height, options_.width);
    for (int64_t i = 0; i < count; ++i) {
      write_frame(static_cast<const std::byte*>(frames) + i * bytes);
    }
  }

  void finish() override {
    complete();
    if (output_) output_->commit();
  }

  std::string finish_partial() override {
    ZOETROPE_CHECK(output_.has_value(), name_);
    complete();
    return output_->commit_partial();
  }

 private:
  void check(int error) const {
    if (error < 0) fail(ErrorCode::kIo, "{}: cannot write: {}", name_, av_reason(error));
  }

  void complete() {
    if (frames_ == 0) fail(ErrorCode::kInvalidArgument, "{}: no frames to write", name_);
    encoder_->encode(nullptr, [this](AVPacket* packet) { write_packet(packet); });
    check(av_write_trailer(container_.get()));
    check(avio_closep(&container_->pb));
  }

  void check_size() const {
    if (options_.height > kLargestSide || options_.width > kLargestSide) {
      fail(ErrorCode::kUnsupported, "{}: expected frames up to {}x{}, found {}x{}", name_,
           kLargestSide, kLargestSide, options_.width, options_.height);
    }
  }

  void open_container() {
    const std::string url = output_ ? "file:" + output_->temporary_path() : "pipe:1";
    AVFormatContext* format = nullptr;
    const int error =
        avformat_alloc_output_context2(&format, nullptr, target_.container, url.c_str());
    container_.reset(format);
    check(error);
    container_->flags |= AVFMT_FLAG_BITEXACT;  // no version of FFmpeg in the file
    check(avio_open(&container_->pb, url.c_str(), AVIO_FLAG_WRITE));
  }

  EncoderSettings encoder_settings() const {
    const bool rgb = target_.format == AV_PIX_FMT_BGR0;
    const bool bt709 = target_.matrix == Matrix::kBt709;
    return {.codec = target_.codec,
            .format = target_.format,
            .space = rgb     ? AVCOL_SPC_RGB
                     : bt709 ? AVCOL_SPC_BT709
                             : AVCOL_SPC_SMPTE170M,
            .full_range = rgb,
            .height = options_.height,
            .width = options_.width,
            .rate = options_.rate,
            .global_header = (container_->oformat->flags & AVFMT_GLOBALHEADER) != 0,
            .options = codec_options(target_, options_)};
  }

  void add_stream() {
    stream_ = avformat_new_stream(container_.get(), nullptr);
    if (stream_ == nullptr) fail(ErrorCode::kOutOfMemory, "{}: no memory to write it", name_);
    check(avcodec_parameters_from_context(stream_->codecpar, &encoder_->codec()));
    stream_->time_base = encoder_->codec().time_base;
    stream_->avg_frame_rate = encoder_->codec().framerate;
    stream_->sample_aspect_ratio = {1, 1};
    AVDictionary* options = nullptr;
    if (std::string(target_.container) == "mp4") {
      av_dict_set(&options, "movflags", "+faststart", 0);
    }
    const int error = avformat_write_header(container_.get(), &options);
    av_dict_free(&options);
    check(error);
  }

  void open_scaler() {
    picture_ = new_picture(target_.format, options_.height, options_.width);
    scaler_ = make_scaler(
        name_, *picture_, {.format = AV_PIX_FMT_RGB24},
        {.format = target_.format,
         .coefficients = target_.matrix == Matrix::kBt709 ? SWS_CS_ITU709 : SWS_CS_ITU601,
         .full_range = target_.format == AV_PIX_FMT_BGR0,
         .chroma = AVCHROMA_LOC_LEFT});
  }

  void say_what_is_odd() const {
    if (target_.format == AV_PIX_FMT_YUV444P) {
      options_.notice(fmt::format(
          "{}: {}x{} is odd: written as 4:4:4, which some players do not show (.mkv is lossless)",
          name_, options_.width, options_.height));
    }
    if (target_.matrix == Matrix::kBt601) {
      options_.notice(fmt::format(
          "{}: y4m has no colour tags: written as bt601, which readers assume below 720 lines",
          name_));
    }
  }

  void write_frame(const void* bytes) {
    const AvPointer<AVFrame> rgb = rgb_picture(bytes, options_.height, options_.width);
    if (av_frame_make_writable(picture_.get()) < 0) {  // the encoder may still hold the last one
      fail(ErrorCode::kOutOfMemory, "{}: no memory for a frame", name_);
    }
    sws_scale(scaler_.get(), rgb->data, rgb->linesize, 0, rgb->height, picture_->data,
              picture_->linesize);
    picture_->pts = frames_;
    encoder_->encode(picture_.get(), [this](AVPacket* packet) { write_packet(packet); });
    ++frames_;
  }

  void write_packet(AVPacket* packet) {
    packet->duration = 1;
    av_packet_rescale_ts(packet, encoder_->codec().time_base, stream_->time_base);
    packet->stream_index = stream_->index;
    check(av_interleaved_write_frame(container_.get(), packet));
  }

  std::string name_;
  WriteOptions options_;
  Target target_;
  std::optional<PendingOutput> output_;  // empty: standard output
  std::unique_ptr<AVFormatContext, OutputDelete> container_;
  std::optional<Encoder> encoder_;
  AVStream* stream_ = nullptr;
  AvPointer<AVFrame> picture_;
  AvPointer<SwsContext> scaler_;
};

}  // namespace

std::unique_ptr<VideoWriter> open_picture_writer(const std::string& path,
                                                 const WriteOptions& options) {
  return std::make_unique<VideoFileWriter>(path, options);
}

}  // namespace zoetrope::media
