// SPDX-License-Identifier: Apache-2.0
#include "cli/video_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "cli/interrupt.h"

namespace zoetrope::cli {
namespace {

// A block completes a step for the models there are; any number of frames gives the same result.
constexpr int64_t kFramesPerLatent = 4;

ReadAhead::Settings read_settings(const Options& options, const Jobs& jobs, Report& report) {
  ReadAhead::Settings settings;
  for (const Job& job : jobs.jobs) {
    if (!job.finished) settings.inputs.push_back(job.input);
  }
  settings.reading = options.reading;
  settings.reading.notice = [&report](const std::string& text) { report.note(text); };
  settings.block_frames = kFramesPerLatent;
  return settings;
}

}  // namespace

VideoInput::VideoInput(const Options& options, const Jobs& jobs, Report& report)
    : report_(report), single_(!jobs.many), ahead_(read_settings(options, jobs, report)) {}

void VideoInput::wait_if_single() {
  if (single_) ahead_.wait_until_open();
}

const media::VideoInfo& VideoInput::open() {
  video_ = ahead_.open();
  return video_;
}

std::string VideoInput::describe_frames(int64_t frames) const {
  const int64_t missing = missing_frames(frames, temporal_stride_);
  if (missing == 0) return "";
  if (policy_.frames == FitFrames::kTrim) {
    return fmt::format("{} frames are trimmed to {}", frames, frames + missing - temporal_stride_);
  }
  return fmt::format("{} frames are padded to {} by repeating the last one", frames,
                     frames + missing);
}

FittedSize VideoInput::fit(const std::string& input, const FitPolicy& policy,
                           const ModelInfo& model) {
  input_ = input;
  policy_ = policy;
  temporal_stride_ = model.temporal_stride;
  const FittedSize fitted = fit_size(input, video_, model.spatial_stride, policy);
  std::string text = describe_fit(video_, fitted);
  // What a file promises is seldom wrong, and refusing at the end would waste all the work.
  if (video_.frames) check_frames(input, *video_.frames, temporal_stride_, policy);
  if (video_.frames && video_.frames_exact) {
    const std::string frames = describe_frames(*video_.frames);
    text += (text.empty() || frames.empty() ? "" : ", ") + frames;
  }
  if (!text.empty()) report_.note(input + ": " + text);
  return fitted;
}

void VideoInput::follow(StreamOptions& stream, const std::string& input) {
  report_.progress().start(input, "frames", video_.frames);
  shown_ = pushed_frames_ = 0;
  stream.cancelled = interrupted;
  stream.progress = [this](int64_t done, int64_t total) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
    report_.progress().show(shown_ + share * pushed_frames_);
  };
}

int64_t VideoInput::encode_all(Encoding& encoding, const BlockSink& before) {
  for (;;) {
    const FrameBlock block = ahead_.read();
    if (block.count == 0) break;
    const media::Frames frames = {video_.format, block.count, video_.height, video_.width,
                                  block.data.data()};
    if (before) before(frames);
    pushed_frames_ = static_cast<double>(block.count);
    encoding.push(frames);
    shown_ += pushed_frames_;
    report_.progress().show(shown_);
  }
  if (encoding.frames() == 0) fail(ErrorCode::kIo, "{}: no frames in it", input_);
  if (!video_.frames || !video_.frames_exact) {
    check_frames(input_, encoding.frames(), temporal_stride_, policy_);
    const std::string text = describe_frames(encoding.frames());
    if (!text.empty()) report_.note(input_ + ": " + text);
  }
  pushed_frames_ = 0;
  return encoding.finish();
}

}  // namespace zoetrope::cli
