// SPDX-License-Identifier: Apache-2.0
// Takes the place of ffmpeg/ in builds without FFmpeg.
#include "base/fail.h"
#include "media/pictures.h"

namespace zoetrope::media {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  fail(ErrorCode::kUnsupported,
       "{}: this build has no FFmpeg and reads and writes no videos and images: use .npy or "
       ".safetensors, or build with ZOETROPE_MEDIA=ON",
       path);
}

}  // namespace

FileKind classify_pictures(const std::string& path) { refuse(path); }

std::unique_ptr<VideoReader> open_picture_reader(const std::string& path, const ReadOptions&) {
  refuse(path);
}

std::unique_ptr<VideoReader> open_image_folder_reader(const std::string& folder,
                                                      const ReadOptions&) {
  refuse(folder);
}

std::unique_ptr<VideoWriter> open_picture_writer(const std::string& path, const WriteOptions&) {
  refuse(path);
}

std::unique_ptr<VideoWriter> open_png_writer(const std::string& path, const WriteOptions&) {
  refuse(path);
}

}  // namespace zoetrope::media
