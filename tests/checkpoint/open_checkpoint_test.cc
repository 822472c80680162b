// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

const char* const kWeights = "diffusion_pytorch_model.safetensors";

std::string weights() {
  return safetensors_bytes(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                           float_bytes({5}));
}

// The message that a file with these bytes is refused with.
std::string refused(std::string_view bytes) {
  const ScratchFolder folder;
  const std::string path = folder.write("weights", bytes);
  const std::string message = refusal(ErrorCode::kCheckpoint, [&] { open_checkpoint(path); });
  EXPECT_THAT(message, HasSubstr(path));
  return message;
}

TEST(OpenCheckpoint, GoesByContentAndNotByName) {
  const ScratchFolder folder;
  const auto safetensors = open_checkpoint(folder.write("weights.pth", weights()));
  EXPECT_EQ(safetensors->format(), "safetensors");
  EXPECT_EQ(safetensors->source(), folder.path("weights.pth"));
  const std::string pickle = pickle::program(pickle::dict(pickle::text("t") + pickle::tensor()));
  const auto torch =
      open_checkpoint(folder.write("weights.safetensors", zip_bytes(torch_entries(pickle))));
  EXPECT_EQ(torch->format(), "torch");
}

TEST(OpenCheckpoint, OpensADiffusersFolderOrItsParent) {
  const ScratchFolder folder;
  folder.write("model/vae/config.json", R"({"_class_name": "X"})");
  folder.write(std::string("model/vae/") + kWeights, weights());
  for (const char* name : {"model", "model/", "model/vae", "model/vae/"}) {
    const auto checkpoint = open_checkpoint(folder.path(name));
    EXPECT_EQ(checkpoint->format(), "diffusers");
    EXPECT_EQ(checkpoint->config(), R"({"_class_name": "X"})");
    EXPECT_EQ(checkpoint->read("w"), std::vector<float>{5});
  }
}

TEST(OpenCheckpoint, RefusesIncompleteFolders) {
  const ScratchFolder folder;
  const auto refused_folder = [&] {
    return refusal(ErrorCode::kCheckpoint, [&] { open_checkpoint(folder.path()); });
  };
  EXPECT_THAT(refused_folder(), HasSubstr("a folder without diffusion_pytorch_model.safetensors"));
  folder.write("config.json", "{}");
  EXPECT_THAT(refused_folder(), HasSubstr("a folder without"));
  std::filesystem::remove(folder.path("config.json"));
  folder.write(kWeights, weights());
  EXPECT_THAT(refused_folder(), HasSubstr("config.json is missing"));
  folder.write("config.json", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(refused_folder(), HasSubstr("git lfs pull"));
  folder.write("config.json", "");
  EXPECT_THAT(refused_folder(), HasSubstr("empty"));
  folder.write("config.json", "{" + std::string(2 << 20, ' ') + "}");
  EXPECT_THAT(refused_folder(), HasSubstr("expected at most"));
  folder.write("config.json", "{}");
  folder.write(kWeights, "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(refused_folder(), HasSubstr("git lfs pull"));
}

TEST(OpenCheckpoint, NamesAGitLfsPointer) {
  EXPECT_THAT(refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
              HasSubstr("this is a Git LFS pointer, not the weights: run git lfs pull"));
}

TEST(OpenCheckpoint, NamesFormatsItDoesNotRead) {
  using namespace std::string_literals;
  EXPECT_THAT(refused("\x89HDF\r\n\x1a\n\0\0\0\0"s), HasSubstr("HDF5"));
  EXPECT_THAT(refused("\x93NUMPY\1\0v\0{"s), HasSubstr("NumPy"));
  EXPECT_THAT(refused(zip_bytes({{.name = "w.npy", .content = "x"}})), HasSubstr("w.npy"));
  EXPECT_THAT(refused("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."s),
              HasSubstr("before torch 1.6"));
  EXPECT_THAT(refused("\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94."s), HasSubstr("Python pickle"));
  EXPECT_THAT(refused("name" + std::string(253, '\0') + "ustar\0"s + "00" + std::string(300, '\0')),
              HasSubstr("tar archive"));
  EXPECT_THAT(refused("\x1f\x8b\x08\0\0\0\0\0"s), HasSubstr("gzip"));
  EXPECT_THAT(refused("\x28\xb5\x2f\xfd\0\0\0\0"s), HasSubstr("zstd"));
}

TEST(OpenCheckpoint, NamesAWebPage) {
  for (const char* page :
       {"<!DOCTYPE html><html>", "\n <html lang=\"en\">", "<?xml version=", "\xef\xbb\xbf<html>"}) {
    EXPECT_THAT(refused(page), HasSubstr("a web page, not the weights"));
  }
}

TEST(OpenCheckpoint, NamesJson) {
  EXPECT_THAT(refused("{\"weight_map\": {}}"), HasSubstr("JSON, not the weights"));
}

TEST(OpenCheckpoint, RefusesEmptyAndUnknownFiles) {
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refused("hello, world"), HasSubstr("not a known checkpoint"));
  EXPECT_THAT(refused(std::string(10'000, '\0')), HasSubstr("not a known checkpoint"));
  EXPECT_THAT(refused("   "), HasSubstr("not a known checkpoint"));
}

TEST(OpenCheckpoint, SaysThatAFileIsMissing) {
  EXPECT_THAT(refusal(ErrorCode::kIo, [] { open_checkpoint("/no/such/file"); }),
              HasSubstr("No such file"));
  refusal(ErrorCode::kIo, [] { open_checkpoint(""); });
}

TEST(OpenCheckpoint, DoesNotWaitForAPipe) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  refusal(ErrorCode::kIo, [&] { open_checkpoint(folder.path("pipe")); });
  refusal(ErrorCode::kIo, [] { open_checkpoint("/dev/zero"); });
}

}  // namespace
}  // namespace zoetrope
