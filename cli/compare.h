// SPDX-License-Identifier: Apache-2.0
// How far an output is from a reference of the same kind.
#pragma once

#include <string>

#include "media/video.h"

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

// Both read the files piece by piece. They throw kIo and the like, and kInvalidArgument if latent
// scales differ.
Comparison compare_latents(const std::string& output, const std::string& reference,
                           double tolerance);
Comparison compare_videos(const std::string& output, const std::string& reference,
                          double tolerance);

}  // namespace zoetrope::cli
