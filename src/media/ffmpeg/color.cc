// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/color.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <string_view>

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

struct NamedWeights {
  LumaWeights weights;
  const char* name;
};

// ITU-T H.273, table 4.
constexpr NamedWeights kBt709 = {{0.2126, 0.0722}, "bt709"};
constexpr NamedWeights kBt601 = {{0.299, 0.114}, "bt601"};
constexpr NamedWeights kFcc = {{0.30, 0.11}, "fcc"};
constexpr NamedWeights kSmpte240m = {{0.212, 0.087}, "smpte240m"};

NamedWeights tagged_weights(const std::string& path, AVColorSpace space) {
  switch (space) {
    case AVCOL_SPC_BT709:
      return kBt709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return kBt601;
    case AVCOL_SPC_FCC:
      return kFcc;
    case AVCOL_SPC_SMPTE240M:
      return kSmpte240m;
    default: {
      const char* name = av_color_space_name(space);
      fail(ErrorCode::kUnsupported,
           "{}: expected a BT.709 or BT.601 colour matrix, found {}: --matrix overrides it", path,
           name == nullptr ? "an unknown one" : name);
    }
  }
}

// Integer samples of up to 16 bits that are YUV, gray or RGB.
bool is_known(const AVPixFmtDescriptor* description) {
  constexpr uint64_t kOthers =
      AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER;
  if (description == nullptr || (description->flags & kOthers) != 0) return false;
  if (std::string_view(description->name).starts_with("xyz")) return false;
  for (int i = 0; i < description->nb_components; ++i) {
    if (description->comp[i].depth > 16) return false;
  }
  return description->nb_components > 0;
}

const AVPixFmtDescriptor& describe(const std::string& path, const AVFrame& frame) {
  const AVPixFmtDescriptor* description =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (!is_known(description)) {
    fail(ErrorCode::kUnsupported,
         "{}: expected pixels of integer YUV, RGB or gray, found {}: convert them with ffmpeg -i "
         "IN -pix_fmt rgb48 OUT.png",
         path, description == nullptr ? "an unknown format" : description->name);
  }
  return *description;
}

}  // namespace

Matrix untagged_matrix(int64_t height) { return height >= 720 ? Matrix::kBt709 : Matrix::kBt601; }

const char* name_of_matrix(Matrix matrix) { return matrix == Matrix::kBt709 ? "bt709" : "bt601"; }

SourceColor find_color(const std::string& path, const AVFrame& frame,
                       const std::optional<Matrix>& matrix) {
  const AVPixFmtDescriptor& description = describe(path, frame);
  refuse_wide_color(path, frame);
  if ((description.flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) {
    return {.kind = ColorKind::kRgb, .full_range = true, .text = "rgb"};
  }
  SourceColor color;
  const bool gray = description.nb_components < 3;
  const bool usually_full = gray || std::string_view(description.name).starts_with("yuvj");
  color.full_range = frame.color_range == AVCOL_RANGE_JPEG ||
                     (usually_full && frame.color_range != AVCOL_RANGE_MPEG);
  const char* range = color.full_range ? "full" : "limited";
  if (gray) {
    color.kind = ColorKind::kGray;
    color.text = fmt::format("gray {}", range);
    return color;
  }
  color.matrix_assumed = !matrix && frame.colorspace == AVCOL_SPC_UNSPECIFIED;
  NamedWeights named = kBt601;
  if (matrix || color.matrix_assumed) {
    const Matrix chosen = matrix.value_or(untagged_matrix(frame.height));
    named = chosen == Matrix::kBt709 ? kBt709 : kBt601;
  } else {
    named = tagged_weights(path, frame.colorspace);
  }
  color.weights = named.weights;
  color.text = fmt::format("{} {}", named.name, range);
  return color;
}

}  // namespace zoetrope::media
