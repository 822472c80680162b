// SPDX-License-Identifier: Apache-2.0
// How a decoded frame is turned before it is shown.
#pragma once

#include <cstdint>
#include <optional>

#include "media/ffmpeg/av.h"

namespace zoetrope::media {

// Shown pixel (x, y) is stored pixel (x', y'), each mirrored first if its flip says so, and with
// the axes exchanged if transpose does.
struct Orientation {
  bool transpose = false;
  bool flip_x = false;  // of the shown picture
  bool flip_y = false;
  bool operator==(const Orientation&) const = default;
};

// From the display matrix of the frame or, if it has none, of the stream. Empty for angles that are
// not a multiple of 90 degrees.
std::optional<Orientation> find_orientation(const AVFrame& frame, const AVStream& stream);

}  // namespace zoetrope::media
