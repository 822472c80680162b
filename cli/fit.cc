// SPDX-License-Identifier: Apache-2.0
#include "cli/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked_math.h"
#include "base/fail.h"

namespace zoetrope::cli {
namespace {

// How pixels lie in memory: rows of `pixel` bytes for each pixel, `planes` of them for each frame.
struct PixelOrder {
  int64_t planes = 1;
  int64_t pixel = 1;
};

PixelOrder order_of(const VideoFormat& format) {
  ZOETROPE_CHECK(format.layout != Layout::kCTHW, "media keeps frames whole");
  const int64_t element = size_of(format.dtype);
  if (format.layout == Layout::kTHWC) return {1, 3 * element};
  return {3, element};
}

// Fills `to`, a row of `width` pixels, from `from`, which has `available` of them; the last one is
// repeated.
void fill_row(const std::byte* from, int64_t available, int64_t width, int64_t pixel,
              std::byte* to) {
  const int64_t copied = std::min(available, width);
  std::memcpy(to, from, static_cast<size_t>(copied * pixel));
  const std::byte* last = from + (copied - 1) * pixel;
  for (int64_t x = copied; x < width; ++x) {
    std::memcpy(to + x * pixel, last, static_cast<size_t>(pixel));
  }
}

// A window of every frame, which may reach over the right and bottom edge: edge pixels are
// repeated.
media::Frames window(const media::Frames& frames, const Rectangle& rectangle,
                     std::vector<std::byte>& buffer) {
  const PixelOrder order = order_of(frames.format);
  media::Frames result = frames;
  result.height = rectangle.height;
  result.width = rectangle.width;
  buffer.resize(static_cast<size_t>(
      frames.count * media::frame_bytes(frames.format, rectangle.height, rectangle.width)));
  result.data = buffer.data();

  const auto* source = static_cast<const std::byte*>(frames.data);
  std::byte* to = buffer.data();
  for (int64_t plane = 0; plane < frames.count * order.planes; ++plane) {
    for (int64_t row = 0; row < rectangle.height; ++row) {
      const int64_t y = std::min(row + rectangle.y, frames.height - 1);
      const int64_t first = (plane * frames.height + y) * frames.width + rectangle.x;
      fill_row(source + first * order.pixel, frames.width - rectangle.x, rectangle.width,
               order.pixel, to);
      to += rectangle.width * order.pixel;
    }
  }
  return result;
}

// True if `recorded` pixels or frames may have become `coded` ones by padding to a multiple.
bool may_pad_to(int64_t recorded, int64_t coded, int64_t stride) {
  return recorded <= coded && recorded > coded - stride && recorded > 0;
}

// The way out that is open for outputs that cannot record the original.
const char* other_output(const FitPolicy& policy) {
  return policy.output_records_source ? "" : ", or write .safetensors, which records the original";
}

}  // namespace

FitPolicy fit_policy(const Options& options, bool output_records_source) {
  const FitFrames frames = output_records_source ? FitFrames::kPad : FitFrames::kRefuse;
  const FitSize size = output_records_source ? FitSize::kPad : FitSize::kRefuse;
  return {options.fit_frames.value_or(frames), options.fit_size.value_or(size),
          output_records_source};
}

FittedSize fit_size(const std::string& input, const media::VideoInfo& video, int64_t stride,
                    const FitPolicy& policy) {
  FittedSize fitted = {.height = round_up(video.height, stride),
                       .width = round_up(video.width, stride),
                       .source_height = video.height,
                       .source_width = video.width};
  if (!fitted.padded() || policy.size == FitSize::kPad) return fitted;
  const int64_t height = video.height / stride * stride;
  const int64_t width = video.width / stride * stride;
  if (policy.size == FitSize::kRefuse) {
    fail(ErrorCode::kInvalidArgument,
         "{}: expected a size in multiples of {}, found {}x{}: choose --fit-size pad ({}x{}) or "
         "crop ({}x{}), or scale with --size WxH{}",
         input, stride, video.width, video.height, fitted.width, fitted.height, width, height,
         other_output(policy));
  }
  if (height == 0 || width == 0) {
    fail(ErrorCode::kInvalidArgument,
         "{}: expected at least {}x{} pixels to crop, found {}x{}: choose --fit-size pad", input,
         stride, stride, video.width, video.height);
  }
  return {.height = height,
          .width = width,
          .source_height = height,
          .source_width = width,
          .offset_y = (video.height - height) / 2,
          .offset_x = (video.width - width) / 2};
}

std::string describe_fit(const media::VideoInfo& video, const FittedSize& fitted) {
  if (fitted.padded()) {
    return fmt::format("{}x{} is padded to {}x{} by repeating its right and bottom edge",
                       video.width, video.height, fitted.width, fitted.height);
  }
  if (fitted.height == video.height && fitted.width == video.width) return "";
  return fmt::format("{}x{} is cropped to the {}x{} in its middle", video.width, video.height,
                     fitted.width, fitted.height);
}

int64_t missing_frames(int64_t frames, int64_t stride) {
  return (stride - (frames - 1) % stride) % stride;
}

void check_frames(const std::string& input, int64_t frames, int64_t stride,
                  const FitPolicy& policy) {
  const int64_t missing = missing_frames(frames, stride);
  if (missing == 0 || policy.frames != FitFrames::kRefuse) return;
  fail(ErrorCode::kInvalidArgument,
       "{}: expected {}k+1 frames, found {}: choose --fit-frames pad ({}) or trim ({}), or some of "
       "them with --frames A:B{}",
       input, stride, frames, frames + missing, frames + missing - stride, other_output(policy));
}

media::Frames fit_frames(const media::Frames& frames, const FittedSize& fitted,
                         std::vector<std::byte>& buffer) {
  if (frames.height == fitted.height && frames.width == fitted.width) return frames;
  return window(frames, {fitted.offset_y, fitted.offset_x, fitted.height, fitted.width}, buffer);
}

media::Frames crop_frames(const media::Frames& frames, const Rectangle& rectangle,
                          std::vector<std::byte>& buffer) {
  if (frames.height == rectangle.height && frames.width == rectangle.width) return frames;
  return window(frames, rectangle, buffer);
}

Restored restored(const std::string& input, const media::LatentInfo& latents,
                  const ModelInfo& model) {
  const std::optional<int64_t> height = checked_multiply(latents.height, model.spatial_stride);
  const std::optional<int64_t> width = checked_multiply(latents.width, model.spatial_stride);
  const std::optional<int64_t> frames = checked_multiply(latents.frames, model.temporal_stride);
  if (!height || !width || !frames) {
    fail(ErrorCode::kIo, "{}: {}x{}x{} latents: too large", input, latents.frames, latents.height,
         latents.width);
  }
  const Restored coded = {*height, *width, *frames - model.temporal_stride + 1};
  const media::LatentSource& source = latents.source;
  const Restored original = {source.height.value_or(coded.height),
                             source.width.value_or(coded.width),
                             source.frames.value_or(coded.frames)};
  if (!may_pad_to(original.height, coded.height, model.spatial_stride) ||
      !may_pad_to(original.width, coded.width, model.spatial_stride) ||
      !may_pad_to(original.frames, coded.frames, model.temporal_stride)) {
    fail(ErrorCode::kIo,
         "{}: expected a record of about the {} frames of {}x{} that the latents give, found {} of "
         "{}x{}: the file was changed; remove its metadata to decode everything",
         input, coded.frames, coded.width, coded.height, original.frames, original.width,
         original.height);
  }
  return original;
}

}  // namespace zoetrope::cli
