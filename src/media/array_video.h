// SPDX-License-Identifier: Apache-2.0
// Videos in .npy and .safetensors files.
#pragma once

#include <memory>
#include <string>

#include "media/video.h"

namespace zoetrope::media {

// Float [3, T, H, W] or uint8 [T, H, W, 3] unless the options say otherwise; in .safetensors the
// tensor `video` or the only one. A leading axis of one clip is dropped. float64 is read as
// float32.
std::unique_ptr<VideoReader> open_array_reader(const std::string& path, const ReadOptions& options);

// float32 [3, T, H, W] in [-1, 1], in .safetensors under the name `video`.
std::unique_ptr<VideoWriter> open_array_writer(const std::string& path,
                                               const WriteOptions& options);

}  // namespace zoetrope::media
