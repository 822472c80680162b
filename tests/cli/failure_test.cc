// SPDX-License-Identifier: Apache-2.0
// Everything that goes wrong: one line, the right exit status, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

class Failure : public ::testing::Test {
 protected:
  void SetUp() override { make_clip(clip_, "16x24", 5); }

  void expect(int status, const std::string& part, const Words& words) const {
    expect_failure(folder_.path(), status, part, words);
  }

  // The words of encoding `input`.
  Words encode(const std::string& input, const Words& more = {}) const {
    Words words = {"encode", input, "-o", folder_.path("out.safetensors")};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--weights") == more.end()) {
      words.insert(words.end(), {"--weights", "random:8:2"});
    }
    return words;
  }

  Words encode_with(const std::string& weights) const {
    return encode(clip_, {"--weights", weights});
  }

  ScratchFolder folder_;
  std::string clip_ = folder_.path("clip.mkv");
};

TEST_F(Failure, UsageIsTwo) {
  const std::string out = folder_.path("out.safetensors");
  expect(2, "--weights", {"encode", clip_, "-o", out});
  expect(2, "did you mean encode?", {"encod", clip_});
  expect(2, "did you mean --frames?", encode(clip_, {"--frame", "0:5"}));
  expect(2, "no input", {"encode", "-o", out, "--weights", "random:8"});
  expect(2, "no output", {"encode", clip_, "--weights", "random:8"});
  expect(2, "--threads many", encode(clip_, {"--threads", "many"}));
  expect(2, "--memory-limit lots", encode(clip_, {"--memory-limit", "lots"}));
  expect(2, "--fit-size grow", encode(clip_, {"--fit-size", "grow"}));
  expect(2, "--frames 5:2: expected A:B with 0 <= A < B", encode(clip_, {"--frames", "5:2"}));
  expect(2, "--size 0x0: expected WxH", encode(clip_, {"--size", "0x0"}));
  expect(2, "--matrix bt2020: expected", encode(clip_, {"--matrix", "bt2020"}));
  expect(2, "--alpha red: expected", encode(clip_, {"--alpha", "red"}));
  expect(2, "--layout chwt: expected", encode(clip_, {"--layout", "chwt"}));
  expect(2, "--range full: expected", encode(clip_, {"--range", "full"}));
  expect(2, "--disable-pass zzz: no compiler pass", encode(clip_, {"--disable-pass", "zzz"}));
  expect(2, "--fps: expected a value, found --weights", encode(clip_, {"--fps"}));
  expect(2, "one argument too many", {"devices", "cpu"});
  expect(2, ".xyz", {"encode", clip_, "-o", folder_.path("out.xyz"), "--weights", "random:8"});
  expect(2, "no such option", {"--quiet"});
}

TEST_F(Failure, InputAndOutputAreThree) {
  expect(3, "empty", encode(folder_.write("empty.mp4", "")));
  expect(3, "text.mp4", encode(folder_.write("text.mp4", std::string(10'000, 'x'))));
  expect(3, "missing.mp4", encode(folder_.path("missing.mp4")));
  ffmpeg({"-f", "lavfi", "-i", "sine=duration=1", folder_.path("sound.wav")});
  expect(3, "sound.wav", encode(folder_.path("sound.wav")));
  ffmpeg({"-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", folder_.path("sound.mp4")});
  expect(3, "sound.mp4", encode(folder_.path("sound.mp4")));
  expect(3, "does not exist",
         {"encode", clip_, "-o", folder_.path("nowhere/out.safetensors"), "--weights", "random:8"});
  folder_.write("there.safetensors", "x");
  expect(3, "-y",
         {"encode", clip_, "-o", folder_.path("there.safetensors"), "--weights", "random:8"});
  EXPECT_EQ(read_file(folder_.path("there.safetensors")), "x");
  expect(3, "clip.mkv", {"decode", clip_, "-o", folder_.path("out.mp4"), "--weights", "random:8"});
}

TEST_F(Failure, ATruncatedVideoLeavesNothing) {
  const std::string whole = read_file(clip_);
  const std::string cut = folder_.write("cut.mkv", whole.substr(0, 300));
  expect(3, "cut.mkv", encode(cut));
}

TEST_F(Failure, AVideoThatIsCutOffLeavesNothing) {
  for (const char* name : {"whole.webm", "whole.gif", "whole.ts"}) {
    make_clip(folder_.path(name), "32x32", 16);
    const std::string bytes = read_file(folder_.path(name));
    const std::string cut =
        folder_.write(std::string("cut-") + name, bytes.substr(0, bytes.size() * 2 / 3 + 1));
    expect(3, "cut off after", encode(cut));
  }
}

TEST_F(Failure, ValuesThatAreNotFiniteAreNamed) {
  Array array = Array::zeros({16, 2, 4, 4});
  array.values[17] = std::nanf("");
  write_npy(folder_.path("latents.npy"), array);
  const std::string path = folder_.path("latents.npy");
  expect(3, "found nan at [0,1,0,1]",
         {"decode", path, "-o", folder_.path("out.npy"), "--weights", "random:8", "--latent-scale",
          "normalized"});
  const Finished inspected = zoetrope({"inspect", path});
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("1 not finite"));
  Array video = Array::zeros({3, 5, 16, 16});
  video.values[0] = -INFINITY;
  write_npy(folder_.path("video.npy"), video);
  expect(3, "found -inf at [0,0,0,0]", encode(folder_.path("video.npy")));
  EXPECT_EQ(zoetrope({"inspect", folder_.path("video.npy")}).status, 0);
}

TEST_F(Failure, APipeIsNotReplaced) {
  const ScratchFolder folder;
  const std::string pipe = folder.path("out.safetensors");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* more : {"--quiet", "-y"}) {
    for (const Words& words :
         {Words{"encode", clip_, "-o", pipe}, Words{"roundtrip", clip_, "-o", pipe},
          Words{"bench", "encode", "--json", pipe}}) {
      Words all = words;
      all.insert(all.end(), {"--weights", "random:8:2", more});
      expect(3, "found a pipe: for standard output, say -", all);
      EXPECT_TRUE(std::filesystem::is_fifo(pipe)) << words[0];
    }
  }
}

TEST_F(Failure, AFolderOfOtherThingsIsNotReplaced) {
  const ScratchFolder videos;
  videos.write("holiday.mp4", "precious");
  ASSERT_EQ(zoetrope_tiny({"encode", clip_, "-o", folder_.path("a.safetensors")}).status, 0);
  expect(3, "holiday.mp4",
         {"decode", folder_.path("a.safetensors"), "-o", videos.path(), "-y", "--weights",
          "random:8"});
  EXPECT_EQ(read_file(videos.path("holiday.mp4")), "precious");
}

TEST_F(Failure, WeightsAreFour) {
  const std::string safetensors = read_file(data_file("wan_2.1_vae.safetensors"));
  const std::string torch = read_file(data_file("Wan2.1_VAE.pth"));
  expect(4, "short.safetensors",
         encode_with(folder_.write("short.safetensors", safetensors.substr(0, 5'000))));
  expect(4, "short.pth",
         encode_with(folder_.write("short.pth", torch.substr(0, torch.size() / 2))));
  expect(4, "clip.mkv", encode_with(clip_));
  std::string evil = torch;
  const std::string allowed = "_rebuild_tensor_v2";
  const size_t at = evil.find(allowed);
  ASSERT_NE(at, std::string::npos);
  evil.replace(at, allowed.size(), "_rebuild_tensor_v3");
  expect(4, "evil.pth", encode_with(folder_.write("evil.pth", evil)));
  Array other = Array::zeros({2, 2});
  write_tensor(folder_.path("other.safetensors"), "lora.weight", other);
  expect(4, "other.safetensors", encode_with(folder_.path("other.safetensors")));
}

TEST_F(Failure, TheWeightsOptionWinsOverTheEnvironment) {
  Words words = encode(clip_);
  words.resize(4);  // without weights
  words.insert(words.begin(), "ZOETROPE_WEIGHTS=" + folder_.path("none.pth"));
  expect(4, "none.pth", words);
  words.insert(words.end(), {"--weights", folder_.path("other.pth")});
  expect(4, "other.pth", words);
}

TEST_F(Failure, WhatIsNotBuiltIsFive) {
  if (!ZOETROPE_HAS_CUDA) expect(5, "no CUDA backend", encode(clip_, {"--device", "cuda:0"}));
  expect(5, "float16", encode(clip_, {"--device", "cpu", "--encode-dtype", "float16"}));
}

TEST_F(Failure, MemoryIsSix) {
  expect(6, "memory", encode(clip_, {"--memory-limit", "100kB"}));
  expect(6, "memory",
         {"roundtrip", clip_, "-o", folder_.path("out.mkv"), "--weights", "random:8",
          "--memory-limit", "100k"});
}

TEST_F(Failure, UnknownDevicesAreSeven) {
  expect(7, "toaster", encode(clip_, {"--device", "toaster"}));
  if (ZOETROPE_HAS_CUDA) expect(7, "cuda:99", encode(clip_, {"--device", "cuda:99"}));
}

TEST_F(Failure, MessagesStayOnOneLine) {
  const Finished run = zoetrope(encode(folder_.path("two\nlines.mp4")));
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(unlike_error_line(run.err), "");
}

TEST(Inspect, DescribesCheckpoints) {
  const Finished run = zoetrope({"inspect", data_file("Wan2.1_VAE.pth"), "--tensors"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wan2.1, published names"));
  EXPECT_THAT(run.out, HasSubstr("base_dim 8"));
  EXPECT_THAT(run.out, HasSubstr("decoder.conv1.weight float32"));
}

TEST(Inspect, DescribesLatentsAndVideos) {
  const ScratchFolder folder;
  make_clip(folder.path("clip.mkv"), "34x50", 5);
  ASSERT_EQ(
      zoetrope_tiny({"encode", folder.path("clip.mkv"), "-o", folder.path("x.safetensors")}).status,
      0);
  const Finished latents = zoetrope({"inspect", folder.path("x.safetensors")});
  EXPECT_EQ(latents.status, 0) << latents.err;
  EXPECT_THAT(latents.out, HasSubstr("[16,2,7,5]"));
  EXPECT_THAT(latents.out, HasSubstr("34x50, 5 frames, 8 frames/s"));
  const Finished video = zoetrope({"inspect", folder.path("clip.mkv")});
  EXPECT_EQ(video.status, 0) << video.err;
  EXPECT_THAT(video.out, HasSubstr("34x50"));
}

TEST(Inspect, BadCheckpointsAreFour) {
  const ScratchFolder folder;
  const std::string bytes = read_file(data_file("Wan2.1_VAE.pth"));
  const Finished run =
      zoetrope({"inspect", folder.write("cut.pth", bytes.substr(0, bytes.size() / 2))});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_EQ(unlike_error_line(run.err), "");
}

// Not even by an administrator: without the right to override permissions.
TEST(Inspect, UnreadableFilesAreThree) {
  const ScratchFolder folder;
  write_npy(folder.path("unread.npy"), Array::zeros({3, 1, 8, 8}));
  std::filesystem::permissions(folder.path("unread.npy"), std::filesystem::perms::none);
  const std::string plain =
      geteuid() == 0 ? "setpriv --bounding-set -dac_override,-dac_read_search " : "";
  const auto run = [&](const std::string& line) {
    return WEXITSTATUS(
        std::system((plain + line + " > /dev/null 2> " + folder.path("err")).c_str()));
  };
  if (run("true") != 0 || run("cat " + folder.path("unread.npy")) == 0) {
    GTEST_SKIP() << "nothing is unreadable here";
  }
  EXPECT_EQ(run(ZOETROPE_PROGRAM + (" inspect " + folder.path("unread.npy"))), 3);
  EXPECT_EQ(unlike_error_line(read_file(folder.path("err"))), "");
}

TEST(Help, TeachesEveryCommand) {
  for (const char* command :
       {"encode", "decode", "roundtrip", "inspect", "bench", "profile", "devices"}) {
    const Finished run = zoetrope({command, "--help"});
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, HasSubstr(std::string("  zoetrope ") + command)) << "an example";
    EXPECT_EQ(run.out, zoetrope({"help", command}).out);
  }
  EXPECT_EQ(zoetrope({"--version"}).out.find("zoetrope "), 0U);
  EXPECT_EQ(zoetrope({"devices"}).status, 0);
}

}  // namespace
}  // namespace zoetrope::testing
