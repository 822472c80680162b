// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/color.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include "base/fail.h"

namespace zoetrope::media {
namespace {

bool is_hdr(const AVFrame& frame) {
  return frame.color_trc == AVCOL_TRC_SMPTE2084 || frame.color_trc == AVCOL_TRC_ARIB_STD_B67;
}

bool is_wide(const AVFrame& frame) {
  return frame.color_primaries == AVCOL_PRI_BT2020 || frame.colorspace == AVCOL_SPC_BT2020_NCL ||
         frame.colorspace == AVCOL_SPC_BT2020_CL;
}

void refuse_wide_color(const std::string& path, const AVFrame& frame) {
  if (is_hdr(frame)) {
    fail(ErrorCode::kUnsupported,
         "{}: expected SDR, found HDR ({}): convert it first: ffmpeg -i IN -vf "
         "zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=hable,"
         "zscale=t=bt709:m=bt709:r=tv,format=yuv420p OUT.mp4",
         path, frame.color_trc == AVCOL_TRC_SMPTE2084 ? "PQ" : "HLG");
  }
  if (is_wide(frame)) {
    fail(ErrorCode::kUnsupported,
         "{}: expected BT.709 or BT.601, found BT.2020: convert it first: ffmpeg -i IN -vf "
         "zscale=p=bt709:t=bt709:m=bt709:r=tv,format=yuv420p OUT.mp4",
         path);
  }
}

struct TaggedMatrix {
  int coefficients;
  const char* name;
};

TaggedMatrix tagged_matrix(const std::string& path, AVColorSpace space) {
  switch (space) {
    case AVCOL_SPC_BT709:
      return {SWS_CS_ITU709, "bt709"};
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return {SWS_CS_ITU601, "bt601"};
    case AVCOL_SPC_FCC:
      return {SWS_CS_FCC, "fcc"};
    case AVCOL_SPC_SMPTE240M:
      return {SWS_CS_SMPTE240M, "smpte240m"};
    default: {
      const char* name = av_color_space_name(space);
      fail(ErrorCode::kUnsupported,
           "{}: expected a BT.709 or BT.601 colour matrix, found {}: --matrix overrides it", path,
           name == nullptr ? "an unknown one" : name);
    }
  }
}

}  // namespace

Matrix untagged_matrix(int64_t height) { return height >= 720 ? Matrix::kBt709 : Matrix::kBt601; }

const char* name_of_matrix(Matrix matrix) { return matrix == Matrix::kBt709 ? "bt709" : "bt601"; }

int coefficients_of(Matrix matrix) {
  return matrix == Matrix::kBt709 ? SWS_CS_ITU709 : SWS_CS_ITU601;
}

SourceColor find_color(const std::string& path, const AVFrame& frame,
                       const std::optional<Matrix>& matrix) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  const std::string name = description == nullptr ? "an unknown one" : description->name;
  constexpr uint64_t kStrange =
      AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER;
  if (description == nullptr || sws_isSupportedInput(format) == 0 ||
      (description->flags & kStrange) != 0 || name.starts_with("xyz")) {
    fail(ErrorCode::kUnsupported,
         "{}: expected a pixel format of integer YUV, RGB or gray, found {}: convert it with "
         "ffmpeg -i IN -pix_fmt rgb48 OUT.png",
         path, name);
  }
  refuse_wide_color(path, frame);
  if ((description->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) {
    return {.full_range = true, .text = "rgb"};
  }
  SourceColor color;
  const bool gray = description->nb_components < 3;
  const bool assumed_full = gray || name.starts_with("yuvj");
  color.full_range = frame.color_range == AVCOL_RANGE_JPEG ||
                     (assumed_full && frame.color_range != AVCOL_RANGE_MPEG);
  const char* range = color.full_range ? "full" : "limited";
  if (gray) {
    color.text = fmt::format("gray {}", range);
    return color;
  }
  color.matrix_assumed = !matrix && frame.colorspace == AVCOL_SPC_UNSPECIFIED;
  if (matrix || color.matrix_assumed) {
    const Matrix chosen = matrix.value_or(untagged_matrix(frame.height));
    color.coefficients = coefficients_of(chosen);
    color.text = fmt::format("{} {}", name_of_matrix(chosen), range);
    return color;
  }
  const TaggedMatrix tagged = tagged_matrix(path, frame.colorspace);
  color.coefficients = tagged.coefficients;
  color.text = fmt::format("{} {}", tagged.name, range);
  return color;
}

}  // namespace zoetrope::media
