// SPDX-License-Identifier: Apache-2.0
// The part of media that needs FFmpeg. Without it (ZOETROPE_MEDIA=OFF) everything here refuses with
// kUnsupported.
#pragma once

#include <memory>
#include <string>

#include "media/file_kind.h"
#include "media/video.h"

namespace zoetrope::media {

// kImage or kVideo. Throws kIo if the file is neither.
FileKind classify_pictures(const std::string& path);

// A video or image file, or "-" for y4m on standard input.
std::unique_ptr<VideoReader> open_picture_reader(const std::string& path,
                                                 const ReadOptions& options);

// The images of a folder in natural order: 2.png before 10.png.
std::unique_ptr<VideoReader> open_image_folder_reader(const std::string& folder,
                                                      const ReadOptions& options);

// .mp4, .mkv, .y4m, or "-" for y4m on standard output.
std::unique_ptr<VideoWriter> open_picture_writer(const std::string& path,
                                                 const WriteOptions& options);

// A .png of one frame, or a folder of them.
std::unique_ptr<VideoWriter> open_png_writer(const std::string& path, const WriteOptions& options);

}  // namespace zoetrope::media
