// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/fail.h"
#include "base/file_writer.h"
#include "base/output_file.h"
#include "media/ffmpeg/encoder.h"
#include "media/frame_folder.h"
#include "media/pictures.h"

extern "C" {
#include <libavutil/dict.h>
}

namespace zoetrope::media {
namespace {

namespace fs = std::filesystem;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

EncoderSettings png_settings(const WriteOptions& options) {
  AVDictionary* codec = nullptr;
  av_dict_set(&codec, "pred", "mixed", 0);  // chosen for each row, for smaller files
  return {.codec = "png",
          .format = AV_PIX_FMT_RGB24,
          .space = AVCOL_SPC_RGB,
          .full_range = true,
          .height = options.height,
          .width = options.width,
          .rate = options.rate,
          .options = codec};
}

class PngWriter final : public VideoWriter {
 public:
  PngWriter(const std::string& path, const WriteOptions& options)
      : options_(options),
        single_(classify_video_output(path) == FileKind::kImage),
        output_(without_slash(path)) {
    capture_av_log();
    if (single_ && options.frames.value_or(1) > 1) refuse_more();
    encoder_.emplace(output_.path(), png_settings(options));
    if (single_) return;
    check_replaceable_folder(output_.path());
    std::error_code error;
    if (!fs::create_directory(output_.temporary_path(), error)) {
      fail(ErrorCode::kIo, "{}: cannot create a folder: {}", path, error.message());
    }
  }

  void write(int64_t count, const void* frames) override {
    const int64_t bytes = frame_bytes(format_, options_.height, options_.width);
    for (int64_t i = 0; i < count; ++i) {
      if (single_ && frames_ == 1) refuse_more();
      const AvPointer<AVFrame> frame = rgb_picture(
          static_cast<const std::byte*>(frames) + i * bytes, options_.height, options_.width);
      encoder_->encode(frame.get(), [this](AVPacket* packet) { write_file(*packet); });
      ++frames_;
    }
  }

  void finish() override {
    check_not_empty();
    output_.commit();
  }

  std::string finish_partial() override {
    check_not_empty();
    return output_.commit_partial();
  }

 private:
  [[noreturn]] void refuse_more() const {
    fail(ErrorCode::kInvalidArgument,
         "{}: a .png holds one frame: name a folder ({}/) or a video for more", output_.path(),
         fs::path(output_.path()).replace_extension().string());
  }

  void check_not_empty() const {
    if (frames_ == 0) fail(ErrorCode::kInvalidArgument, "{}: no frames to write", output_.path());
  }

  void write_file(const AVPacket& packet) const {
    std::string path = output_.temporary_path();
    if (!single_) path += fmt::format("/{}", frame_file_name(frames_ + 1));
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(packet.data), packet.size);
    file.close();
    if (file) return;
    const int reason = errno;
    std::error_code ignored;
    fs::remove(path, ignored);  // only whole frames are kept
    fail(ErrorCode::kIo, "{}: cannot write: {}", output_.path(), why_not_written(reason));
  }

  WriteOptions options_;
  bool single_;
  PendingOutput output_;
  std::optional<Encoder> encoder_;
};

}  // namespace

std::unique_ptr<VideoWriter> open_png_writer(const std::string& path, const WriteOptions& options) {
  return std::make_unique<PngWriter>(path, options);
}

}  // namespace zoetrope::media
