// SPDX-License-Identifier: Apache-2.0
#include "cli/check_clip.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "cli/made_up_input.h"

namespace zoetrope::cli {
namespace {

// Frames that are not part of a complete step are left out.
int64_t complete(int64_t frames, int64_t stride) { return frames - (frames - 1) % stride; }

}  // namespace

media::Frames CheckClip::part(int64_t first, int64_t count) const {
  return {format, count, height, width,
          data.data() + first * media::frame_bytes(format, height, width)};
}

TensorView CheckClip::view(int64_t first, int64_t count) const {
  TensorView view;
  view.data = const_cast<void*>(part(first, count).data);  // inputs are never written through
  view.dtype = format.dtype;
  view.shape = format.layout == Layout::kTHWC ? std::vector<int64_t>{count, height, width, 3}
                                              : std::vector<int64_t>{count, 3, height, width};
  return view;
}

std::string CheckClip::description() const {
  return fmt::format("{} frame{} of {}x{}, {}", frames, frames == 1 ? "" : "s", width, height,
                     name.empty() ? "made up" : name);
}

CheckInput::CheckInput(const Options& options, const CheckpointDescription& model, Report& report)
    : most_frames_(options.measure.frames), temporal_stride_(model.temporal_stride) {
  clip_.frames = most_frames_;
  if (options.inputs.empty()) {
    make_up(options.measure.size, model.spatial_stride);
  } else {
    open(options, model.spatial_stride, report);
  }
  clip_.frames = complete(clip_.frames, temporal_stride_);
}

void CheckInput::make_up(const media::FrameSize& size, int64_t stride) {
  if (size.height % stride != 0 || size.width % stride != 0) {
    fail(ErrorCode::kInvalidArgument, "--size {}x{}: expected multiples of {}", size.width,
         size.height, stride);
  }
  clip_.height = size.height;
  clip_.width = size.width;
}

void CheckInput::open(const Options& options, int64_t stride, Report& report) {
  clip_.name = options.inputs.front();
  media::ReadOptions reading = options.reading;
  reading.notice = [&report](const std::string& text) { report.note(text); };
  reader_ = media::open_video_reader(clip_.name, reading);
  const media::VideoInfo& video = reader_->info();
  fitted_ =
      fit_size(clip_.name, video, stride, {.frames = FitFrames::kTrim, .size = FitSize::kCrop});
  clip_.format = video.format;
  clip_.height = fitted_.height;
  clip_.width = fitted_.width;
  if (video.frames) clip_.frames = std::clamp<int64_t>(*video.frames, 1, most_frames_);
}

double CheckInput::bytes() const {
  return static_cast<double>(clip_.frames) *
         static_cast<double>(media::frame_bytes(clip_.format, clip_.height, clip_.width));
}

CheckClip CheckInput::read() {
  if (reader_) {
    read_frames();
  } else {
    clip_.data.resize(static_cast<size_t>(bytes()));
    make_up_clip(clip_.frames, clip_.height, clip_.width,
                 reinterpret_cast<float*>(clip_.data.data()));
  }
  return std::move(clip_);
}

void CheckInput::read_frames() {
  const media::VideoInfo& video = reader_->info();
  std::vector<std::byte> frame(
      static_cast<size_t>(media::frame_bytes(video.format, video.height, video.width)));
  std::vector<std::byte> cropped;
  const int64_t size = media::frame_bytes(clip_.format, clip_.height, clip_.width);
  clip_.data.reserve(static_cast<size_t>(bytes()));
  int64_t frames = 0;
  while (frames < most_frames_ && reader_->read(1, frame.data()) == 1) {
    const media::Frames whole = {video.format, 1, video.height, video.width, frame.data()};
    const auto* data = static_cast<const std::byte*>(fit_frames(whole, fitted_, cropped).data);
    clip_.data.insert(clip_.data.end(), data, data + size);
    ++frames;
  }
  if (frames == 0) fail(ErrorCode::kIo, "{}: no frames in it", clip_.name);
  clip_.frames = complete(frames, temporal_stride_);
}

}  // namespace zoetrope::cli
