// SPDX-License-Identifier: Apache-2.0
// What the numbers of a decoded frame mean.
#pragma once

#include <optional>
#include <string>

#include "media/ffmpeg/av.h"
#include "media/video.h"

namespace zoetrope::media {

struct SourceColor {
  int coefficients = SWS_CS_ITU601;  // SWS_CS_ of the matrix; of no meaning for RGB
  bool full_range = false;
  bool matrix_assumed = false;  // a YUV source without a tag: BT.709 from 720 lines up, else BT.601
  std::string text;             // "bt709 limited"
};

// Follows the frame's tags; `matrix` overrides them. Throws kUnsupported for HDR, BT.2020 and other
// colours that a linear map to 8-bit RGB would get wrong.
SourceColor find_color(const std::string& path, const AVFrame& frame,
                       const std::optional<Matrix>& matrix);

// BT.709 from 720 lines up, else BT.601: what readers take untagged video for.
Matrix untagged_matrix(int64_t height);

const char* name_of_matrix(Matrix matrix);
int coefficients_of(Matrix matrix);

}  // namespace zoetrope::media
