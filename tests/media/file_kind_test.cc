// SPDX-License-Identifier: Apache-2.0
#include "media/file_kind.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/safetensors.h"
#include "media/npy.h"
#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

void write_tensor(const std::string& path, const std::string& name, std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  write_safetensors(path, {{name, {values.data(), DType::kFloat32, {}, std::move(shape), {}}, {}}},
                    {});
}

TEST(FileKind, KnowsArraysByContent) {
  const ScratchFolder folder;
  const std::vector<int64_t> shape = {0};
  write_bytes(folder.file("a.mp4"), npy_header(DType::kFloat32, shape));
  EXPECT_EQ(classify_input(folder.file("a.mp4")), FileKind::kNpy);
  write_tensor(folder.file("b"), "video", {3, 1, 2, 2});
  EXPECT_EQ(classify_input(folder.file("b")), FileKind::kSafetensors);
  write_tensor(folder.file("c"), "latents", {1, 16, 1, 2, 2});
  EXPECT_EQ(classify_input(folder.file("c")), FileKind::kLatent);
}

TEST(FileKind, KnowsFoldersAndPipes) {
  const ScratchFolder folder;
  EXPECT_EQ(classify_input("-"), FileKind::kY4mPipe);
  EXPECT_EQ(classify_input(folder.file("")), FileKind::kImageFolder);
  EXPECT_EQ(classify_video_output("-"), FileKind::kY4mPipe);
  EXPECT_EQ(classify_video_output(folder.file("")), FileKind::kImageFolder);
  EXPECT_EQ(classify_video_output("new/"), FileKind::kImageFolder);
}

TEST(FileKind, SaysWhatIsMissingOrEmpty) {
  const ScratchFolder folder;
  const Error missing = error_of([&] { classify_input(folder.file("none.mp4")); });
  EXPECT_EQ(missing.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(missing.what()).find("none.mp4: No such file"), std::string::npos);
  write_bytes(folder.file("empty.mp4"), "");
  const Error empty = error_of([&] { classify_input(folder.file("empty.mp4")); });
  EXPECT_EQ(empty.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(empty.what()).find("an empty file"), std::string::npos);
}

TEST(FileKind, KnowsOutputsByExtension) {
  EXPECT_EQ(classify_video_output("a/b.mp4"), FileKind::kVideo);
  EXPECT_EQ(classify_video_output("b.mkv"), FileKind::kVideo);
  EXPECT_EQ(classify_video_output("b.y4m"), FileKind::kVideo);
  EXPECT_EQ(classify_video_output("b.png"), FileKind::kImage);
  EXPECT_EQ(classify_video_output("b.npy"), FileKind::kNpy);
  EXPECT_EQ(classify_video_output("b.safetensors"), FileKind::kSafetensors);
  EXPECT_EQ(classify_latent_output("b.safetensors"), FileKind::kLatent);
  EXPECT_EQ(classify_latent_output("b.latent"), FileKind::kLatent);
  EXPECT_EQ(classify_latent_output("b.npy"), FileKind::kNpy);
}

TEST(FileKind, RefusesOtherOutputsAndListsTheKnown) {
  for (const char* path : {"b", "b.avi", "b.latent", "mp4"}) {
    const Error error = error_of([path] { classify_video_output(path); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << path;
    EXPECT_NE(std::string(error.what()).find(".safetensors"), std::string::npos);
  }
  EXPECT_EQ(error_of([] { classify_latent_output("b.mp4"); }).code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace zoetrope::media
