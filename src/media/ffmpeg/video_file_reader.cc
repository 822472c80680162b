// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "base/fail.h"
#include "media/ffmpeg/decoder.h"
#include "media/ffmpeg/resampler.h"
#include "media/ffmpeg/rgb_converter.h"
#include "media/ffmpeg/timing.h"
#include "media/pictures.h"

namespace zoetrope::media {
namespace {

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

class VideoFileReader final : public VideoReader {
 public:
  VideoFileReader(const std::string& path, const ReadOptions& options)
      : name_(name_of(path)),
        options_(options),
        decoder_(path),
        timing_(find_timing(decoder_.input())),
        // Without a rate of its own, the source is labelled with the wanted one, not resampled.
        rate_(options.rate.value_or(timing_.rate)),
        resampler_(decoder_, labelled(timing_, rate_), rate_),
        next_(resampler_.next()),
        converter_(options, name_, first_frame(), *decoder_.input().stream()) {
    info_.height = converter_.height();
    info_.width = converter_.width();
    info_.format = converter_.format();
    info_.color = converter_.color();
    info_.rate = rate_;
    info_.rate_known = timing_.rate_known || options.rate.has_value();
    info_.frames = frames_in_range();
    info_.frames_exact = decoder_.input().is_image();
    say_what_is_odd();
  }

  int64_t read(int64_t count, void* frames) override {
    skip_to_range();
    const int64_t bytes = frame_bytes(info_.format, info_.height, info_.width);
    int64_t done = 0;
    while (done < count && next_ != nullptr &&
           (!options_.range.end || index_ < *options_.range.end)) {
      converter_.convert(name_, *next_, *decoder_.input().stream(),
                         static_cast<std::byte*>(frames) + done * bytes);
      ++done;
      advance();
    }
    if (done < count) say_how_it_ended();
    return done;
  }

 private:
  static Timing labelled(Timing timing, const FrameRate& rate) {
    if (!timing.rate_known) timing.rate = rate;
    return timing;
  }

  const AVFrame& first_frame() const {
    if (next_ == nullptr) fail(ErrorCode::kIo, "{}: expected a video, found no frames", name_);
    return *next_;
  }

  std::optional<int64_t> frames_in_range() const {
    std::optional<int64_t> frames = resampler_.frames();
    if (!frames) return frames;
    if (options_.range.end) frames = std::min(*frames, *options_.range.end);
    return std::max<int64_t>(*frames - options_.range.begin, 0);
  }

  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(fmt::format("{}: {}", name_, text));
  }

  void say_what_is_odd() const {
    const AVStream& stream = *decoder_.input().stream();
    const AVRational aspect =
        av_guess_sample_aspect_ratio(decoder_.input().format(), decoder_.input().stream(), nullptr);
    if (aspect.num > 0 && aspect.num != aspect.den) {
      notice(fmt::format("pixels of shape {}:{} are taken for square", aspect.num, aspect.den));
    }
    if (stream.codecpar->field_order > AV_FIELD_PROGRESSIVE) {
      notice("interlaced: fields are read as one picture (ffmpeg -vf bwdif separates them)");
    }
    if (!timing_.constant) {
      notice(fmt::format("variable frame rate: resampled to {}{}", to_string(rate_),
                         options_.rate ? "" : ", its average (--fps overrides it)"));
    }
    if (!info_.rate_known && !decoder_.input().is_image()) {
      notice(fmt::format("no frame rate: {} assumed (--fps sets it)", to_string(rate_)));
    }
  }

  void advance() {
    next_ = resampler_.next();
    ++index_;
  }

  void skip_to_range() {
    while (next_ != nullptr && index_ < options_.range.begin) advance();
    if (next_ == nullptr && index_ <= options_.range.begin) {
      fail(ErrorCode::kInvalidArgument, "{}: frames from {} on: the video has {}", name_,
           options_.range.begin, index_);
    }
  }

  void say_how_it_ended() {
    const int64_t repeated = resampler_.repeated();
    const int64_t left_out = resampler_.left_out();
    if (std::exchange(ended_, true)) return;
    if (repeated > 0 || left_out > 0) {
      notice(fmt::format("frames repeated: {}, left out: {}, to reach rate {}", repeated, left_out,
                         to_string(rate_)));
    }
    if (next_ == nullptr) say_if_short(name_, options_.range, index_, options_.notice);
    const int64_t promised = timing_.frames.value_or(0);
    if (next_ == nullptr && decoder_.frames() < promised) {
      notice(fmt::format("{} of {} frames could not be decoded", promised - decoder_.frames(),
                         promised));
    }
  }

  std::string name_;
  ReadOptions options_;
  Decoder decoder_;
  Timing timing_;
  FrameRate rate_;
  Resampler resampler_;
  const AVFrame* next_;
  RgbConverter converter_;
  int64_t index_ = 0;  // of next_, in output frames
  bool ended_ = false;
};

}  // namespace

FileKind classify_pictures(const std::string& path) {
  return PacketInput(path).is_image() ? FileKind::kImage : FileKind::kVideo;
}

std::unique_ptr<VideoReader> open_picture_reader(const std::string& path,
                                                 const ReadOptions& options) {
  return std::make_unique<VideoFileReader>(path, options);
}

}  // namespace zoetrope::media
