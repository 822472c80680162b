// SPDX-License-Identifier: Apache-2.0
// The short clip that check runs over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/fit.h"
#include "cli/options.h"
#include "cli/report.h"
#include "media/video.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

inline constexpr VideoFormat kDecodedFormat = {Layout::kTHWC, Range::kSigned, DType::kFloat32};

struct CheckClip {
  std::string name;  // empty: made up
  VideoFormat format = kDecodedFormat;
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<std::byte> data = {};

  media::Frames part(int64_t first, int64_t count) const;
  TensorView view(int64_t first, int64_t count) const;

  // "9 frames of 128x128, made up"
  std::string description() const;
};

// The first frames of the input, as many as --frames says, at most, cropped to what the model
// takes; or a made-up clip. Opened, but not read.
class CheckInput {
 public:
  // Throws kInvalidArgument, kIo.
  CheckInput(const Options& options, const CheckpointDescription& model, Report& report);

  // Without its data, and with as many frames as the input promises.
  const CheckClip& clip() const { return clip_; }

  // That its data will take.
  double bytes() const;

  // Once. Throws kIo.
  CheckClip read();

 private:
  void make_up(const media::FrameSize& size, int64_t stride);
  void open(const Options& options, int64_t stride, Report& report);
  void read_frames();

  int64_t most_frames_;  // --frames
  int64_t temporal_stride_;
  CheckClip clip_;
  std::unique_ptr<media::VideoReader> reader_;  // empty: the clip is made up
  FittedSize fitted_;
};

}  // namespace zoetrope::cli
