// SPDX-License-Identifier: Apache-2.0
// Folders of frames as files.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope::media {

// "frame_000001.png", counted from 1.
std::string frame_file_name(int64_t number);

// Replacing a folder removes what is in it. Throws kIo if it holds anything but such frames; a
// folder that does not exist is fine.
void check_replaceable_folder(const std::string& folder);

}  // namespace zoetrope::media
