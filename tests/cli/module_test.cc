// SPDX-License-Identifier: Apache-2.0
// Modules from the command line: whatever takes --weights takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/base/scratch_folder.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

class Compile : public ::testing::Test {
 protected:
  // A module of the tiny model in float32.
  std::string module(Words more = {}) const {
    const std::string path = folder_.path("tiny.zoe");
    more.insert(more.begin(), {"compile", "--device", "cpu", "-o", path});
    const Finished made = zoetrope_tiny(more);
    EXPECT_EQ(made.status, 0) << made.err;
    return path;
  }

  ScratchFolder folder_;
};

TEST_F(Compile, MakesWhatEveryCommandTakes) {
  const std::string module = this->module();
  const std::string clip = folder_.path("clip.mkv");
  make_clip(clip, "32x48", 9);
  const auto out = [&](const char* name) { return folder_.path(name); };
  ASSERT_EQ(zoetrope({"encode", clip, "-o", out("a.safetensors"), "--weights", module}).status, 0);
  ASSERT_EQ(zoetrope_tiny({"encode", clip, "-o", out("b.safetensors")}).status, 0);
  EXPECT_EQ(read_file(out("a.safetensors")), read_file(out("b.safetensors")));
  ASSERT_EQ(
      zoetrope({"decode", out("a.safetensors"), "-o", out("a.npy"), "--weights", module}).status,
      0);
  ASSERT_EQ(zoetrope_tiny({"decode", out("b.safetensors"), "-o", out("b.npy")}).status, 0);
  EXPECT_EQ(read_file(out("a.npy")), read_file(out("b.npy")));
  const Words small = {"--size", "16x16", "--frames", "1", "--weights", module, "--quiet"};
  for (Words command : {Words{"bench", "decode", "--repetitions", "1"}, Words{"profile", "encode"},
                        Words{"inspect", module}}) {
    if (command[0] != "inspect") command.insert(command.end(), small.begin(), small.end());
    const Finished done = zoetrope(command);
    EXPECT_EQ(done.status, 0) << command[0] << done.err;
  }
}

TEST_F(Compile, SaysWhatItMade) {
  const std::string path = folder_.path("half.zoe");
  const Finished made = zoetrope({"compile", "--weights", "random:8", "--target", "cpu-avx2",
                                  "--only", "decode", "-o", path, "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto json = nlohmann::json::parse(made.out);
  EXPECT_EQ(json["kind"], "module");
  EXPECT_EQ(json["module"]["target"], "cpu-avx2");
  EXPECT_EQ(json["module"]["decode_dtype"], "float32");
  EXPECT_TRUE(json["module"]["encode_dtype"].is_null());
  EXPECT_GT(json["module"]["bytes"], 1 << 20);
  EXPECT_LT(json["module"]["bytes"], std::filesystem::file_size(path));
  EXPECT_EQ(zoetrope({"inspect", path, "--json"}).out, made.out);
  EXPECT_THAT(
      zoetrope({"compile", "--weights", "random:8", "--target", "cpu-sse4", "-o", path, "-y"}).out,
      HasSubstr("half.zoe: wan2.1 for cpu-sse4 in float32: "));
  const Finished quiet = zoetrope_tiny({"compile", "-o", path, "-y", "--quiet"});
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(Compile, RefusesWhatCannotBe) {
  const std::string module = this->module();
  const std::string other = folder_.path("other.zoe");
  const auto fails = [&](int status, const char* part, const Words& words) {
    expect_failure(folder_.path(), status, part, words);
  };
  fails(2, "no output", {"compile", "--weights", "random:8"});
  fails(2, "no weights", {"compile", "-o", other});
  fails(2, "cpu-avx2", {"compile", "--weights", "random:8", "-o", other, "--target", "pentium"});
  fails(2, "--decode-dtype float32: that half is left out by --only encode",
        {"compile", "--weights", "random:8", "-o", other, "--only", "encode", "--decode-dtype",
         "float32"});
  fails(2, "--only", {"compile", "--weights", "random:8", "-o", other, "--only", "both"});
  fails(
      2, "give one of them",
      {"compile", "--weights", "random:8", "-o", other, "--target", "cpu-avx2", "--device", "cpu"});
  fails(5, "a module, whose weights are packed: compile the checkpoint",
        {"compile", "--weights", module, "-o", other});
  fails(5, "a module, whose weights are packed: check the checkpoint",
        {"check", "--weights", module});
  fails(5, "a module, whose weights are packed: convert the checkpoint",
        {"convert", module, "-o", folder_.path("out.gguf")});
  fails(3, "add -y", {"compile", "--weights", "random:8", "-o", module});
  fails(3, "a folder", {"compile", "--weights", "random:8", "-o", folder_.path()});
  fails(4, "/none", {"compile", "--weights", "/none", "-o", other});
  fails(2, "made to decode in float32",
        {"bench", "decode", "--weights", module, "--dtype", "bfloat16"});
  fails(2, "made with every pass",
        {"bench", "decode", "--weights", module, "--disable-pass", "fuse-norm"});
  fails(4, "made for cpu-", {"bench", "decode", "--weights", module, "--device", "cuda"});
}

}  // namespace
}  // namespace zoetrope::testing
