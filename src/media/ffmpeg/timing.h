// SPDX-License-Identifier: Apache-2.0
// When the frames of a stream are shown.
#pragma once

#include <cstdint>
#include <optional>

#include "media/ffmpeg/av.h"
#include "media/ffmpeg/packet_input.h"
#include "media/frame_rate.h"

namespace zoetrope::media {

struct Timing {
  FrameRate rate;           // declared or, without a declared one, on average
  bool rate_known = false;  // false: `rate` is the default
  bool constant = true;     // frame i is shown at i / rate
  // From reading all packets once; empty for pipes, which cannot be read twice.
  std::optional<int64_t> frames;
  int64_t first = 0;  // smallest and largest timestamp, in the stream's time base
  int64_t last = 0;
};

// Reads `path` to its end, without decoding, if it is a regular file.
Timing find_timing(const std::string& path);

}  // namespace zoetrope::media
