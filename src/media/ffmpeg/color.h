// SPDX-License-Identifier: Apache-2.0
// What the numbers of a decoded frame mean.
#pragma once

#include <optional>
#include <string>

#include "media/ffmpeg/av.h"
#include "media/video.h"

namespace zoetrope::media {

enum class ColorKind : uint8_t { kRgb, kGray, kYuv };

// Shares of red and blue in luma; green has the rest.
struct LumaWeights {
  double red = 0.299;
  double blue = 0.114;
};

struct SourceColor {
  ColorKind kind = ColorKind::kYuv;
  LumaWeights weights;          // of YUV
  bool full_range = false;      // of YUV and gray
  bool matrix_assumed = false;  // a YUV source without a tag: see untagged_matrix
  std::string text;             // "bt709 limited"
};

// Follows the frame's tags; `matrix` overrides them. Throws kUnsupported for HDR, BT.2020 and other
// colours that a linear map to 8-bit RGB would get wrong.
SourceColor find_color(const std::string& path, const AVFrame& frame,
                       const std::optional<Matrix>& matrix);

// BT.709 from 720 lines up, else BT.601: what readers take untagged video for.
Matrix untagged_matrix(int64_t height);

const char* name_of_matrix(Matrix matrix);

}  // namespace zoetrope::media
