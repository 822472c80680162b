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

// Of the stream of `input`, which is left as it is: a regular file is opened again and read to its
// end, without decoding.
Timing find_timing(const PacketInput& input);

}  // namespace zoetrope::media
