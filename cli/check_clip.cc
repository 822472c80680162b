// SPDX-License-Identifier: Apache-2.0
#include "cli/check_clip.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "base/fail.h"
#include "cli/fit.h"
#include "cli/made_up_input.h"

namespace zoetrope::cli {
namespace {

CheckClip make_up(const MeasureOptions& asked) {
  CheckClip clip = {
      .name = {}, .frames = asked.frames, .height = asked.size.height, .width = asked.size.width};
  const std::vector<float> values = made_up_clip(clip.frames, clip.height, clip.width);
  clip.data.resize(values.size() * sizeof(float));
  std::memcpy(clip.data.data(), values.data(), clip.data.size());
  return clip;
}

CheckClip read_clip(const Options& options, const ModelInfo& model, Report& report) {
  const std::string& input = options.inputs.front();
  media::ReadOptions reading = options.reading;
  reading.notice = [&report](const std::string& text) { report.note(text); };
  const std::unique_ptr<media::VideoReader> reader = media::open_video_reader(input, reading);
  const media::VideoInfo& video = reader->info();
  const FittedSize fitted = fit_size(input, video, model.spatial_stride,
                                     {.frames = FitFrames::kTrim, .size = FitSize::kCrop});
  CheckClip clip = {.name = input,
                    .format = video.format,
                    .frames = 0,
                    .height = fitted.height,
                    .width = fitted.width};
  std::vector<std::byte> frame(
      static_cast<size_t>(media::frame_bytes(video.format, video.height, video.width)));
  std::vector<std::byte> cropped;
  const int64_t size = media::frame_bytes(clip.format, clip.height, clip.width);
  while (clip.frames < options.measure.frames && reader->read(1, frame.data()) == 1) {
    const media::Frames whole = {video.format, 1, video.height, video.width, frame.data()};
    const auto* data = static_cast<const std::byte*>(fit_frames(whole, fitted, cropped).data);
    clip.data.insert(clip.data.end(), data, data + size);
    ++clip.frames;
  }
  if (clip.frames == 0) fail(ErrorCode::kIo, "{}: no frames in it", input);
  clip.frames -= (clip.frames - 1) % model.temporal_stride;
  return clip;
}

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
  return fmt::format("{} frames of {}x{}, {}", frames, width, height,
                     name.empty() ? "made up" : name);
}

CheckClip open_check_clip(const Options& options, const ModelInfo& model, Report& report) {
  if (!options.inputs.empty()) return read_clip(options, model, report);
  const MeasureOptions& asked = options.measure;
  if (asked.size.height % model.spatial_stride != 0 ||
      asked.size.width % model.spatial_stride != 0) {
    fail(ErrorCode::kInvalidArgument, "--size {}x{}: expected multiples of {}", asked.size.width,
         asked.size.height, model.spatial_stride);
  }
  CheckClip clip = make_up(asked);
  clip.frames -= (clip.frames - 1) % model.temporal_stride;
  return clip;
}

}  // namespace zoetrope::cli
