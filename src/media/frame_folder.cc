// SPDX-License-Identifier: Apache-2.0
#include "media/frame_folder.h"

#include <filesystem>
#include <system_error>

#include "base/fail.h"

namespace zoetrope::media {

namespace fs = std::filesystem;

std::string frame_file_name(int64_t number) { return fmt::format("frame_{:06}.png", number); }

void check_replaceable_folder(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("frame_") && name.ends_with(".png")) continue;
    fail(ErrorCode::kIo,
         "{}: expected a new folder or one of frame_*.png only, found {}: name another folder",
         folder, name);
  }
}

}  // namespace zoetrope::media
