// SPDX-License-Identifier: Apache-2.0
#include "media/video.h"

#include <utility>

#include "base/fail.h"
#include "base/parse_number.h"
#include "media/array_video.h"
#include "media/file_kind.h"
#include "media/pictures.h"
#include "media/scaled_reader.h"

namespace zoetrope::media {
namespace {

std::optional<int64_t> parse_index(std::string_view text) {
  const std::optional<int64_t> value = parse_number<int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::unique_ptr<VideoReader> open_unscaled(const std::string& input, const ReadOptions& options) {
  switch (classify_input(input)) {
    case FileKind::kNpy:
    case FileKind::kSafetensors:
      return open_array_reader(input, options);
    case FileKind::kLatent:
      fail(ErrorCode::kInvalidArgument,
           "{}: expected a video, found latents: `zoetrope decode` takes them", input);
    case FileKind::kImageFolder:
      return open_image_folder_reader(input, options);
    case FileKind::kVideo:
    case FileKind::kImage:
    case FileKind::kY4mPipe:
      break;
  }
  return open_picture_reader(input, options);
}

}  // namespace

FrameSize parse_frame_size(std::string_view text) {
  const size_t x = text.find('x');
  const bool valid = x != std::string_view::npos;
  const int64_t width = valid ? parse_index(text.substr(0, x)).value_or(0) : 0;
  const int64_t height = valid ? parse_index(text.substr(x + 1)).value_or(0) : 0;
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide) {
    fail(ErrorCode::kInvalidArgument, "--size {}: expected WxH such as 832x480, at most {}x{}",
         text, kLargestSide, kLargestSide);
  }
  return {height, width};
}

int64_t frame_bytes(const VideoFormat& format, int64_t height, int64_t width) {
  return 3 * height * width * size_of(format.dtype);
}

Matrix parse_matrix(std::string_view text) {
  if (text == "bt601") return Matrix::kBt601;
  if (text == "bt709") return Matrix::kBt709;
  fail(ErrorCode::kInvalidArgument, "--matrix {}: expected bt601 or bt709", text);
}

AlphaPolicy parse_alpha_policy(std::string_view text) {
  if (text == "drop") return AlphaPolicy::kDrop;
  if (text == "black") return AlphaPolicy::kBlack;
  if (text == "white") return AlphaPolicy::kWhite;
  fail(ErrorCode::kInvalidArgument, "--alpha {}: expected drop, black or white", text);
}

Layout parse_layout(std::string_view text) {
  if (text == "thwc") return Layout::kTHWC;
  if (text == "tchw") return Layout::kTCHW;
  if (text == "cthw") return Layout::kCTHW;
  fail(ErrorCode::kInvalidArgument, "--layout {}: expected thwc, tchw or cthw", text);
}

Range parse_range(std::string_view text) {
  if (text == "signed") return Range::kSigned;
  if (text == "unit") return Range::kUnit;
  if (text == "bytes") return Range::kBytes;
  fail(ErrorCode::kInvalidArgument,
       "--range {}: expected signed (-1 to 1), unit (0 to 1) or bytes (0 to 255)", text);
}

FrameRange parse_frame_range(std::string_view text) {
  const size_t colon = text.find(':');
  FrameRange range;
  bool valid = colon != std::string_view::npos;
  if (valid && colon > 0) {
    const std::optional<int64_t> begin = parse_index(text.substr(0, colon));
    valid = begin.has_value();
    range.begin = begin.value_or(0);
  }
  if (valid && colon + 1 < text.size()) {
    range.end = parse_index(text.substr(colon + 1));
    valid = range.end.has_value() && *range.end > range.begin;
  }
  if (!valid) {
    fail(ErrorCode::kInvalidArgument,
         "--frames {}: expected A:B with 0 <= A < B, either of which may be left out", text);
  }
  return range;
}

void say_if_short(const std::string& name, const FrameRange& range, int64_t frames,
                  const Notice& notice) {
  if (!notice || !range.end || frames >= *range.end) return;
  notice(fmt::format("{}: --frames {}:{}: there {}", name, range.begin, *range.end,
                     frames == 1 ? "is 1 frame" : fmt::format("are {} frames", frames)));
}

std::unique_ptr<VideoReader> open_video_reader(const std::string& input,
                                               const ReadOptions& options) {
  std::unique_ptr<VideoReader> reader = open_unscaled(input, options);
  if (!options.size) return reader;
  return scale_reader(std::move(reader), *options.size, input, options.notice);
}

std::unique_ptr<VideoWriter> open_video_writer(const std::string& output,
                                               const WriteOptions& options) {
  if (options.height <= 0 || options.width <= 0) {
    fail(ErrorCode::kInvalidArgument, "{}: expected frames of at least 1x1, found {}x{}", output,
         options.width, options.height);
  }
  switch (classify_video_output(output)) {
    case FileKind::kNpy:
    case FileKind::kSafetensors:
      return open_array_writer(output, options);
    case FileKind::kImage:
    case FileKind::kImageFolder:
      return open_png_writer(output, options);
    default:
      return open_picture_writer(output, options);
  }
}

}  // namespace zoetrope::media
