// SPDX-License-Identifier: Apache-2.0
// The caller's tensors seen with the axes (frames, height, width, channels).
#pragma once

#include <cstdint>
#include <string>

#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope {

// Throws kInvalidArgument unless `type` and range belong together.
void check_video_format(const VideoFormat& format);

// `video` must be what `format` says, with `channels`, height and width as given, and `frames`
// frames (-1: any). Throws kInvalidArgument, naming what differs.
TensorView video_view(const TensorView& video, const VideoFormat& format, int64_t frames,
                      int64_t height, int64_t width, int64_t channels);

// `latent` must be a floating [channels, frames, height, width] (frames -1: any).
TensorView latent_view(const std::string& what, const TensorView& latent, int64_t frames,
                       int64_t height, int64_t width, int64_t channels);

// `count` frames of a view from `begin` on; and channels likewise.
TensorView slice_frames(const TensorView& view, int64_t begin, int64_t count);
TensorView slice_channels(const TensorView& view, int64_t begin, int64_t count);

// Item `index` of a batch: the tensor without its first axis.
TensorView batch_item(const TensorView& batch, int64_t index);

// Single frames of a batch as consecutive frames: `frame` is the view of item 0, which has one.
TensorView batch_as_frames(const TensorView& frame, const TensorView& batch);

}  // namespace zoetrope
