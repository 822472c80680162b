// SPDX-License-Identifier: Apache-2.0
// Whether a file goes on to where its container says that it ends. Demuxers take the end of a file
// for the end of the video.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zoetrope::media {

// What shows that a file is cut off, such as "its data goes on to byte 5870, the file ends at
// 3522"; empty if nothing does. `container` is FFmpeg's name of the format. Looks at the lengths
// that Matroska, MP4, AVI, ASF, FLV, Ogg, PNG and GIF record for their parts, and at whole packets
// of MPEG-TS; formats without any lengths cannot tell.
std::string find_cut(std::span<const std::byte> file, std::string_view container);

}  // namespace zoetrope::media
