// SPDX-License-Identifier: Apache-2.0
// Odd names of files, and odd values of options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

class Names : public ::testing::Test {
 protected:
  void SetUp() override { make_clip(clip_, "16x24", 1); }

  void expect(int status, const std::string& part, const Words& words) const {
    expect_failure(folder_.path(), status, part, words);
  }

  ScratchFolder folder_;
  std::string clip_ = folder_.path("clip.mkv");
  std::string out_ = folder_.path("out.safetensors");
};

TEST_F(Names, MayBeginWithADash) {
  std::filesystem::rename(clip_, folder_.path("-clip.mkv"));
  std::filesystem::copy(folder_.path("-clip.mkv"), folder_.path("--quiet"));
  EXPECT_EQ(zoetrope_tiny({"encode", "-o", out_, "--", folder_.path("-clip.mkv")}).status, 2)
      << "--weights was taken for an option";
  EXPECT_EQ(zoetrope({"devices", "--", "cpu"}).status, 2);
  const std::string weights = " --weights random:8:2 -- ";
  const auto run = [&](const std::string& words) {
    const std::string command =
        "cd " + folder_.path() + " && " + ZOETROPE_PROGRAM + " " + words + " > out.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_.path("out.txt"));
  };
  run("encode -o -a.safetensors" + weights + "-clip.mkv");
  run("encode --output=-b.safetensors" + weights + "--quiet");
  run("decode -o -a.npy" + weights + "-a.safetensors");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("-a.npy")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("-b.safetensors")));
}

TEST_F(Names, EmptyOnesAreRefused) {
  const Words command = {"encode", clip_, "-o", out_, "--weights", "random:8:2"};
  for (const char* option : {"--fps", "--size", "--device", "--expect", "--frames", "--files-from",
                             "--fit-size", "--latent-scale", "--threads", "--disable-pass"}) {
    Words words = command;
    words.insert(words.end(), {option, ""});
    expect(2, option, words);
    words = command;
    words.push_back(std::string(option) + "=");
    expect(2, option, words);
  }
  expect(2, "--weights", {"encode", clip_, "-o", out_, "--weights", ""});
  expect(2, "--weights",
         {"ZOETROPE_WEIGHTS=random:8:2", "encode", clip_, "-o", out_, "--weights", ""});
  expect(2, "-o", {"encode", clip_, "-o", "", "--weights", "random:8:2"});
  expect(2, "empty", {"encode", "", "-o", out_, "--weights", "random:8:2"});
}

TEST_F(Names, DevicesAreNamedOneByOne) {
  for (const char* device : {"auto, cpu", ", ", "cpu,", "pu", "auto,cpu"}) {
    expect(7, device, {"encode", clip_, "-o", out_, "--weights", "random:8:2", "--device", device});
  }
}

TEST_F(Names, MayBeAsLongAsTheFileSystemAllows) {
  const std::string longest(255 - std::string(".safetensors").size(), 'x');
  const std::string latents = folder_.path(longest + ".safetensors");
  EXPECT_EQ(zoetrope_tiny({"encode", clip_, "-o", latents}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(latents));
  for (const char* name : {".mkv", ".npy", ".png", "/"}) {
    const std::string output = folder_.path(longest.substr(0, 240) + name);
    EXPECT_EQ(zoetrope_tiny({"decode", latents, "-o", output}).status, 0) << name;
  }
  expect(3, "at most 255 bytes",
         {"encode", clip_, "-o", folder_.path(longest + "x.safetensors"), "--weights", "missing"});
}

TEST_F(Names, NoOutputIsAnotherJobsInput) {
  make_clip(folder_.path("a.mkv"), "16x24", 1);
  ASSERT_EQ(mkdir(folder_.path("b").c_str(), 0700), 0);
  make_clip(folder_.path("b/clip.mkv"), "16x24", 1);
  const std::string before = read_file(clip_);
  // b/clip.mkv would become clip.mkv, which is another input.
  const std::string pattern = folder_.path("./b/../{}.mkv");
  expect(2, "clip.mkv",
         {"roundtrip", folder_.path("b/clip.mkv"), clip_, "-o", pattern, "-y", "--weights",
          "missing"});
  ASSERT_EQ(symlink(clip_.c_str(), folder_.path("link.mkv").c_str()), 0);
  expect(2, "clip.mkv",
         {"roundtrip", folder_.path("b/clip.mkv"), folder_.path("link.mkv"), "-o",
          folder_.path("{}.mkv"), "-y", "--weights", "missing"});
  EXPECT_EQ(read_file(clip_), before);
}

}  // namespace
}  // namespace zoetrope::testing
