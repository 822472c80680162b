// SPDX-License-Identifier: Apache-2.0
// How close two videos are, frame by frame.
#pragma once

#include <cstdint>
#include <vector>

#include "media/video.h"

namespace zoetrope::media {

struct Quality {
  int64_t frames = 0;
  // Over the 8-bit RGB values of all frames: 10 log10(255^2 / mean squared error); infinite if
  // equal.
  double psnr = 0;
  // Mean over frames of the mean SSIM of luma: Wang, Bovik, Sheikh, Simoncelli, "Image quality
  // assessment: from error visibility to structural similarity", IEEE Trans. Image Processing
  // 13(4), 2004: an 11x11 Gaussian window of sigma 1.5, K1 = 0.01, K2 = 0.03, L = 255, whole
  // windows only. Luma is 0.299 R + 0.587 G + 0.114 B, not rounded. Frames smaller than 11 pixels
  // use the largest odd window that fits.
  double ssim = 0;
};

class QualityMeter {
 public:
  // Blocks of the same count and size, in any formats; values are rounded to 8 bits first.
  void add(const Frames& reference, const Frames& other);

  Quality result() const;

 private:
  void add_frame(int64_t height, int64_t width);

  int64_t frames_ = 0;
  int64_t values_ = 0;
  double squared_error_ = 0;
  double ssim_ = 0;
  std::vector<uint8_t> reference_;  // (h, w, 3)
  std::vector<uint8_t> other_;
};

}  // namespace zoetrope::media
