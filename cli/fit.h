// SPDX-License-Identifier: Apache-2.0
// Videos whose size or frame count the model does not take: padded, cut, or refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "media/latent_file.h"
#include "media/video.h"

namespace zoetrope::cli {

// What is done where the options leave it open.
struct FitPolicy {
  FitFrames frames = FitFrames::kPad;
  FitSize size = FitSize::kPad;
  bool output_records_source = true;
};

// Padding is the default only for an output that can record the original.
FitPolicy fit_policy(const Options& options, bool output_records_source);

// Where a video's frames lie in the frames that are encoded.
struct FittedSize {
  int64_t height = 0;  // encoded
  int64_t width = 0;
  int64_t source_height = 0;  // of the part of the video that is encoded
  int64_t source_width = 0;
  int64_t offset_y = 0;  // of that part in the video
  int64_t offset_x = 0;

  bool padded() const { return height != source_height || width != source_width; }
};

// `stride`: the model's. Throws kInvalidArgument, naming `input`, if the policy refuses.
FittedSize fit_size(const std::string& input, const media::VideoInfo& video, int64_t stride,
                    const FitPolicy& policy);

// One line about what was done to the size, or nothing.
std::string describe_fit(const media::VideoInfo& video, const FittedSize& fitted);

// Frames to add at the end of a video of `frames` so that their number becomes stride * k + 1.
int64_t missing_frames(int64_t frames, int64_t stride);

// Throws kInvalidArgument, naming `input`, if the policy refuses a video of `frames` frames.
void check_frames(const std::string& input, int64_t frames, int64_t stride,
                  const FitPolicy& policy);

// Frames of the video's size, made fit; the result is a view of `buffer`, or of `frames` itself if
// there is nothing to do.
media::Frames fit_frames(const media::Frames& frames, const FittedSize& fitted,
                         std::vector<std::byte>& buffer);

// The rectangle of `height` x `width` at (y, x) of every frame; a view of `buffer`, or of `frames`
// itself if that is all of it.
struct Rectangle {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};
media::Frames crop_frames(const media::Frames& frames, const Rectangle& rectangle,
                          std::vector<std::byte>& buffer);

// The size and frame count to restore after decoding latents that give `decoded` frames.
struct Restored {
  int64_t height = 0;
  int64_t width = 0;
  int64_t frames = 0;
};

// `strides`: the model's. Throws kIo, naming `input`, if the record cannot be true.
Restored restored(const std::string& input, const media::LatentInfo& latents,
                  const ModelInfo& model);

}  // namespace zoetrope::cli
