// SPDX-License-Identifier: Apache-2.0
#include "media/planar_file.h"

#include <gtest/gtest.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

// Writes `frames` frames of 3 planes in blocks of `block` and returns the file.
std::string write_planes(std::optional<int64_t> promised, int64_t frames, int64_t block,
                         int64_t frame_bytes) {
  const ScratchFolder folder;
  const std::string path = folder.file("planes");
  PlanarFile file(path, path,
                  {.header_bytes = 4, .planes = 3, .frame_bytes = frame_bytes, .frames = promised});
  for (int64_t first = 0; first < frames; first += block) {
    const int64_t count = std::min(block, frames - first);
    std::vector<std::string> bytes(3);
    for (int64_t plane = 0; plane < 3; ++plane) {
      for (int64_t i = 0; i < count; ++i) {
        bytes[static_cast<size_t>(plane)] += std::string(
            static_cast<size_t>(frame_bytes), static_cast<char>(plane * 80 + (first + i) % 79));
      }
    }
    file.append(count, {bytes[0].data(), bytes[1].data(), bytes[2].data()});
  }
  EXPECT_EQ(file.frames(), frames);
  file.finish("head");
  return read_bytes(path);
}

std::string expected_planes(int64_t frames, int64_t frame_bytes) {
  std::string bytes = "head";
  for (int64_t plane = 0; plane < 3; ++plane) {
    for (int64_t i = 0; i < frames; ++i) {
      bytes +=
          std::string(static_cast<size_t>(frame_bytes), static_cast<char>(plane * 80 + i % 79));
    }
  }
  return bytes;
}

TEST(PlanarFile, IsTheSameWhateverWasPromised) {
  for (const std::optional<int64_t> promised :
       {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(300),
        std::optional<int64_t>(150), std::optional<int64_t>(5000)}) {
    EXPECT_EQ(write_planes(promised, 150, 7, 5), expected_planes(150, 5));
  }
}

TEST(PlanarFile, MovesPlanesLargerThanItsBuffer) {
  constexpr int64_t kFrameBytes = 40'000;  // 70 frames are 2.8 MB, more than two buffers
  EXPECT_EQ(write_planes(std::nullopt, 70, 3, kFrameBytes), expected_planes(70, kFrameBytes));
  EXPECT_EQ(write_planes(73, 70, 3, kFrameBytes), expected_planes(70, kFrameBytes));
}

TEST(PlanarFile, SaysWhereItCannotWrite) {
  const Error error = error_of([] { PlanarFile("/nowhere/at/all", "out.npy", {0, 1, 1, {}}); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("out.npy"), std::string::npos);
}

}  // namespace
}  // namespace zoetrope::media
