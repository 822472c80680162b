// SPDX-License-Identifier: Apache-2.0
#include "runtime/edge_view.h"

#include <array>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"

namespace zoetrope {
namespace {

struct LayoutAxes {
  const char* name;
  std::array<size_t, 4> axes;  // where frames, height, width, channels stand
};

LayoutAxes axes_of(Layout layout) {
  switch (layout) {
    case Layout::kTHWC:
      return {"[T,H,W,C]", {0, 1, 2, 3}};
    case Layout::kTCHW:
      return {"[T,C,H,W]", {0, 2, 3, 1}};
    case Layout::kCTHW:
      return {"[C,T,H,W]", {1, 2, 3, 0}};
  }
  fail(ErrorCode::kInvalidArgument, "video format: unknown layout {}", static_cast<int>(layout));
}

void check_shape(const std::string& what, const TensorView& view, const char* axes,
                 const std::vector<int64_t>& expected) {
  bool fits = view.shape.size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = expected[i] < 0 ? view.shape[i] >= 0 : view.shape[i] == expected[i];
  }
  if (!fits) {
    fail(ErrorCode::kInvalidArgument, "{}: expected shape {} = {} (-1: any), found {}", what, axes,
         to_string(expected), to_string(view.shape));
  }
  if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
    fail(ErrorCode::kInvalidArgument, "{}: expected a stride for each of {} axes, found {}", what,
         view.shape.size(), view.strides.size());
  }
}

void check_data(const std::string& what, const TensorView& view) {
  for (const int64_t extent : view.shape) {
    if (extent == 0) return;
  }
  if (view.data == nullptr) {
    fail(ErrorCode::kInvalidArgument, "{}: expected data for shape {}, found a null pointer", what,
         to_string(view.shape));
  }
}

TensorView permuted(const TensorView& view, const std::array<size_t, 4>& axes) {
  const std::vector<int64_t> strides = strides_of(view);
  TensorView result = {
      .data = view.data, .dtype = view.dtype, .device = view.device, .shape = {}, .strides = {}};
  for (const size_t axis : axes) {
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(strides[axis]);
  }
  return result;
}

TensorView slice(const TensorView& view, size_t axis, int64_t begin, int64_t count) {
  TensorView result = view;
  result.strides = strides_of(view);
  result.shape[axis] = count;
  if (view.data != nullptr) {
    result.data =
        static_cast<std::byte*>(view.data) + begin * result.strides[axis] * size_of(view.dtype);
  }
  return result;
}

}  // namespace

void check_video_format(const VideoFormat& format) {
  const bool bytes = format.range == Range::kBytes;
  const bool fits = bytes ? format.dtype == DType::kUInt8
                          : is_floating(format.dtype) && format.dtype != DType::kFloat64;
  if (fits) return;
  fail(ErrorCode::kInvalidArgument, "video format: expected {} for this range, found {}",
       bytes ? "uint8" : "float32, float16 or bfloat16", name_of(format.dtype));
}

TensorView video_view(const TensorView& video, const VideoFormat& format, int64_t frames,
                      int64_t height, int64_t width, int64_t channels) {
  const LayoutAxes layout = axes_of(format.layout);
  std::vector<int64_t> expected(4);
  const std::array<int64_t, 4> extents = {frames, height, width, channels};
  for (size_t i = 0; i < extents.size(); ++i) expected[layout.axes[i]] = extents[i];
  check_shape("video", video, layout.name, expected);
  if (video.dtype != format.dtype) {
    fail(ErrorCode::kInvalidArgument, "video: expected {} as the video format says, found {}",
         name_of(format.dtype), name_of(video.dtype));
  }
  check_data("video", video);
  return permuted(video, layout.axes);
}

TensorView latent_view(const std::string& what, const TensorView& latent, int64_t frames,
                       int64_t height, int64_t width, int64_t channels) {
  check_shape(what, latent, "[C,T,H/8,W/8]", {channels, frames, height, width});
  if (!is_floating(latent.dtype) || latent.dtype == DType::kFloat64) {
    fail(ErrorCode::kInvalidArgument, "{}: expected float32, float16 or bfloat16, found {}", what,
         name_of(latent.dtype));
  }
  check_data(what, latent);
  return permuted(latent, {1, 2, 3, 0});
}

TensorView slice_frames(const TensorView& view, int64_t begin, int64_t count) {
  return slice(view, 0, begin, count);
}

TensorView slice_channels(const TensorView& view, int64_t begin, int64_t count) {
  return slice(view, 3, begin, count);
}

TensorView batch_item(const TensorView& batch, int64_t index) {
  TensorView item = slice(batch, 0, index, 1);
  item.shape.erase(item.shape.begin());
  item.strides.erase(item.strides.begin());
  return item;
}

TensorView batch_as_frames(const TensorView& frame, const TensorView& batch) {
  TensorView frames = frame;
  frames.shape[0] = batch.shape[0];
  frames.strides[0] = strides_of(batch)[0];
  return frames;
}

}  // namespace zoetrope
