// SPDX-License-Identifier: Apache-2.0
// Videos scaled as they are read.
#pragma once

#include <memory>
#include <string>

#include "media/video.h"

namespace zoetrope::media {

// The frames of `reader` in `size`; says so if that changes their aspect ratio. `name` is for
// messages.
std::unique_ptr<VideoReader> scale_reader(std::unique_ptr<VideoReader> reader,
                                          const FrameSize& size, const std::string& name,
                                          const Notice& notice);

}  // namespace zoetrope::media
