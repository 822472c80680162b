// SPDX-License-Identifier: Apache-2.0
// Frame rates as exact fractions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zoetrope::media {

// Frames per second; both parts positive, without a common factor.
struct FrameRate {
  int64_t num = 16;  // what Wan2.1 models are trained at
  int64_t den = 1;
  bool operator==(const FrameRate&) const = default;
};

// "24", "24000/1001" or a decimal; 23.976, 29.97, 59.94 and 119.88 mean the broadcast fractions.
// Throws kInvalidArgument.
FrameRate parse_frame_rate(std::string_view text);

// "24" or "24000/1001"
std::string to_string(const FrameRate& rate);

}  // namespace zoetrope::media
