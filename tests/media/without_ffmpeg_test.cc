// SPDX-License-Identifier: Apache-2.0
// Builds with ZOETROPE_MEDIA=OFF.
#include <gtest/gtest.h>

#include "media/file_kind.h"
#include "media/video.h"
#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

TEST(WithoutFfmpeg, RefusesPicturesAndNamesTheWayOut) {
  const ScratchFolder folder;
  write_bytes(folder.file("a.mp4"), "anything");
  const auto read = [](const std::string& path) {
    return error_of([&path] { open_video_reader(path, {}); });
  };
  const auto write = [](const std::string& path) {
    return error_of([&path] { open_video_writer(path, {.height = 8, .width = 8}); });
  };
  for (const Error& error : {read(folder.file("a.mp4")), read(folder.file("")), read("-"),
                             write("a.mp4"), write("a.png"), write("a/"), write("-")}) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("ZOETROPE_MEDIA=ON"), std::string::npos);
  }
}

}  // namespace
}  // namespace zoetrope::media
