// SPDX-License-Identifier: Apache-2.0
// The videos that encode and roundtrip read.
#pragma once

#include <functional>
#include <string>

#include "cli/coding.h"
#include "cli/fit.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/read_ahead.h"
#include "cli/report.h"

namespace zoetrope::cli {

class VideoInput {
 public:
  VideoInput(const Options& options, const Jobs& jobs, Report& report);

  // With a single input, throws why it cannot be opened: before weights are loaded for it.
  void wait_if_single();

  // Goes to the next input.
  const media::VideoInfo& open();

  // Applies the policy to the current input; says what is done.
  FittedSize fit(const std::string& input, const FitPolicy& policy, const ModelInfo& model);

  // Makes a Stream show its progress on `input`, and stop when interrupted.
  void follow(StreamOptions& stream, const std::string& input);

  // Pushes all frames, after handing each block to `before`, which may be empty. Returns the number
  // of the video's frames that were encoded.
  using BlockSink = std::function<void(const media::Frames&)>;
  int64_t encode_all(Encoding& encoding, const BlockSink& before = {});

 private:
  std::string describe_frames(int64_t frames) const;

  Report& report_;
  bool single_;
  ReadAhead ahead_;
  media::VideoInfo video_;
  std::string input_;
  FitPolicy policy_;
  int64_t temporal_stride_ = 1;
  double shown_ = 0;          // frames before the current push
  double pushed_frames_ = 0;  // of the current push
};

}  // namespace zoetrope::cli
