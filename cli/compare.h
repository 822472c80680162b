// SPDX-License-Identifier: Apache-2.0
// How far an output is from a reference of the same kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "media/video.h"
#include "zoetrope/video_format.h"

namespace zoetrope::cli {

struct Comparison {
  std::string reference;
  double max_error = 0;  // NaN anywhere makes it infinite
  double largest = 0;    // absolute value of the reference
  double rms_error = 0;
  double psnr = 0;  // dB; the peak of a video is 2 (-1 to 1), of latents `largest`
  double tolerance = 0;
  bool match = false;   // max_error <= tolerance * largest
  std::string problem;  // why nothing can be compared: another size or number of frames; or empty
};

struct Extent {
  int64_t channels = 3;           // of a latent frame or a video frame
  std::optional<int64_t> frames;  // if known for sure
  int64_t height = 0;
  int64_t width = 0;
};

// What is compared with a reference: it is opened before the work, so that what is wrong with it
// costs none.
class Reference {
 public:
  // Latents that are compared with an output of `scale`. Both throw kIo and the like, and
  // kInvalidArgument if the reference has another scale.
  static Reference latents(const std::string& path, LatentScale scale);
  static Reference video(const std::string& path);

  // Before the work: a comparison with its problem, if an output of this extent cannot match.
  std::optional<Comparison> foresee(const Extent& output, double tolerance) const;

  // Reads both files piece by piece. Throws kIo and the like, kCancelled when interrupted.
  Comparison compare(const std::string& output, double tolerance) const;

 private:
  Comparison compare_latents(const std::string& output, double tolerance) const;
  Comparison compare_videos(const std::string& output, double tolerance) const;

  std::string path_;
  std::optional<LatentScale> scale_;  // of latents; empty: a video
  Extent extent_;
};

}  // namespace zoetrope::cli
