// SPDX-License-Identifier: Apache-2.0
// The short clip that check runs over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/report.h"
#include "media/video.h"
#include "zoetrope/autoencoder.h"

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
// takes; or a made-up clip. Throws kInvalidArgument, kIo.
CheckClip open_check_clip(const Options& options, const ModelInfo& model, Report& report);

}  // namespace zoetrope::cli
