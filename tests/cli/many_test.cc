// SPDX-License-Identifier: Apache-2.0
// Many inputs, pipes, signals, and what is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

class Many : public ::testing::Test {
 protected:
  void SetUp() override {
    make_clip(folder_.path("a.mkv"), "16x24", 5);
    folder_.write("bad.mp4", "this is no video at all");
    make_clip(folder_.path("c.mkv"), "24x16", 1);
  }

  ScratchFolder folder_;
  std::string a_ = folder_.path("a.mkv");
  std::string bad_ = folder_.path("bad.mp4");
  std::string c_ = folder_.path("c.mkv");
  std::string out_ = folder_.path("out");
};

TEST_F(Many, OneBadFileDoesNotStopTheRest) {
  const Finished run = zoetrope_tiny({"encode", a_, bad_, c_, "-o", out_});
  EXPECT_EQ(run.status, 8);
  EXPECT_EQ(unlike_error_line(run.err), "");
  EXPECT_THAT(run.err, HasSubstr(bad_));
  EXPECT_THAT(run.out, HasSubstr("2 done, 1 failed"));
  EXPECT_THAT(names_in(out_), ElementsAre("a.safetensors", "c.safetensors"));
}

TEST_F(Many, FinishedOutputsAreSkippedUnlessOverwritten) {
  ASSERT_EQ(zoetrope_tiny({"encode", a_, c_, "-o", out_}).status, 0);
  const std::string before = read_file(out_ + "/a.safetensors");
  folder_.write("out/c.safetensors", "something else");
  const Finished skipped = zoetrope_tiny({"encode", a_, c_, "-o", out_});
  EXPECT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_THAT(skipped.out, HasSubstr("0 done, 2 skipped"));
  EXPECT_EQ(read_file(out_ + "/c.safetensors"), "something else");
  const Finished again = zoetrope_tiny({"encode", a_, c_, "-o", out_, "-y"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_file(out_ + "/a.safetensors"), before);
  EXPECT_NE(read_file(out_ + "/c.safetensors"), "something else");
}

TEST_F(Many, SaysWhatBecameOfEachInputInJson) {
  ASSERT_EQ(zoetrope_tiny({"encode", a_, "-o", out_ + "/"}).status, 0);
  const Finished run = zoetrope_tiny({"encode", a_, bad_, c_, "-o", out_, "--json"});
  EXPECT_EQ(run.status, 8);
  const std::vector<nlohmann::json> lines = json_lines(run.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].at("status"), "skipped");
  EXPECT_EQ(lines[1].at("status"), "failed");
  EXPECT_THAT(lines[1].at("error"), HasSubstr("bad.mp4"));
  EXPECT_EQ(lines[2].at("status"), "done");
  EXPECT_EQ(lines[2].at("frames"), 1);
  EXPECT_EQ(lines[2].at("output"), out_ + "/c.safetensors");
}

TEST_F(Many, ListsComeFromFilesAndStandardInput) {
  const std::string list = folder_.write("list.txt", a_ + "\n\n" + c_ + "\n");
  const std::string first = folder_.path("first");
  EXPECT_EQ(zoetrope_tiny({"encode", "--files-from", list, "-o", first}).status, 0);
  EXPECT_THAT(names_in(first), ElementsAre("a.safetensors", "c.safetensors"));
  const std::string second = folder_.path("second");
  EXPECT_EQ(zoetrope_tiny({"encode", "--files-from", "-", "-o", second}, {list, -1}).status, 0);
  EXPECT_THAT(names_in(second), ElementsAre("a.safetensors", "c.safetensors"));
}

TEST_F(Many, NamesAreMadeFromThePattern) {
  ASSERT_EQ(mkdir(out_.c_str(), 0700), 0);
  const Finished run = zoetrope_tiny({"encode", a_, c_, "-o", out_ + "/{}-vae.latent"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(names_in(out_), ElementsAre("a-vae.latent", "c-vae.latent"));
  const Finished decoded = zoetrope_tiny(
      {"decode", out_ + "/a-vae.latent", out_ + "/c-vae.latent", "-o", folder_.path("videos/")});
  EXPECT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_THAT(names_in(folder_.path("videos")), ElementsAre("a-vae.mp4", "c-vae.mp4"));
}

TEST_F(Many, OutputsThatCollideAreRefused) {
  folder_.write("other/a.mkv", read_file(a_));
  const Finished run = zoetrope_tiny({"encode", a_, folder_.path("other/a.mkv"), "-o", out_});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(unlike_error_line(run.err), "");
  const Finished file = zoetrope_tiny({"encode", a_, c_, "-o", folder_.path("x.safetensors")});
  EXPECT_EQ(file.status, 2);
  EXPECT_EQ(unlike_error_line(file.err), "");
}

TEST_F(Many, WrongWeightsEndTheRunAtOnce) {
  const Finished run = zoetrope({"encode", a_, c_, "-o", out_, "--weights", bad_});
  EXPECT_EQ(run.status, 4);
  EXPECT_EQ(unlike_error_line(run.err), "");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Many, QuietSaysNothing) {
  const Finished run = zoetrope_tiny({"encode", a_, c_, "-o", out_, "--quiet"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(Many, ProgressCanBeLinesOrJson) {
  const Finished lines =
      zoetrope_tiny({"encode", a_, "-o", folder_.path("x.safetensors"), "--progress", "lines"});
  EXPECT_EQ(lines.status, 0);
  EXPECT_THAT(lines.err, HasSubstr(a_ + ": 5 of 5 frames"));
  const Finished json =
      zoetrope_tiny({"encode", a_, "-o", folder_.path("y.safetensors"), "--progress", "json"});
  EXPECT_EQ(json.status, 0);
  const std::vector<nlohmann::json> objects = json_lines(json.err);
  ASSERT_FALSE(objects.empty());
  EXPECT_EQ(objects.back().at("done"), 5);
  EXPECT_EQ(objects.back().at("total"), 5);
}

TEST_F(Many, Y4mPipesInAndOut) {
  const std::string y4m = folder_.path("clip.y4m");
  make_clip(y4m, "16x24", 5);
  const std::string latents = folder_.path("pipe.safetensors");
  const Finished encoded = zoetrope_tiny({"encode", "-", "-o", latents}, {y4m, -1});
  ASSERT_EQ(encoded.status, 0) << encoded.err;
  const std::string direct = folder_.path("file.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", y4m, "-o", direct}).status, 0);
  EXPECT_EQ(read_tensor(latents, "latent").values, read_tensor(direct, "latent").values);

  const Finished decoded = zoetrope_tiny({"decode", latents, "-o", "-"});
  ASSERT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_TRUE(decoded.out.starts_with("YUV4MPEG2 W16 H24 F8:1"));
  EXPECT_THAT(decoded.err, HasSubstr("5 frames of 16x24"));
  const std::string again = folder_.path("again.y4m");
  ASSERT_EQ(zoetrope_tiny({"decode", latents, "-o", again}).status, 0);
  EXPECT_EQ(decoded.out, read_file(again));
}

TEST_F(Many, AClosedPipeEndsQuietly) {
  const std::string latents = folder_.path("a.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", a_, "-o", latents}).status, 0);
  const std::string command = std::string(ZOETROPE_PROGRAM) + " decode " + latents +
                              " -o - --weights random:8:2 2>" + folder_.path("err") +
                              " | head -c 20 >" + folder_.path("out");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(read_file(folder_.path("err")), Not(HasSubstr("zoetrope:")));
}

class Interrupted : public ::testing::TestWithParam<int> {};

TEST_P(Interrupted, StopsALongEncodeAndLeavesNothing) {
  const ScratchFolder folder;
  const std::string clip = folder.path("long.y4m");
  make_clip(clip, "256x256", 100);
  Program program({"encode", clip, "-o", folder.path("x.safetensors"), "--weights", "random:32",
                   "--matrix", "bt601"});
  ASSERT_TRUE(wait_for_file(folder.path(), ".partial"));
  program.send(GetParam());
  const Finished run = program.wait();
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_EQ(unlike_error_line(run.err), "");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("long.y4m"));
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, ::testing::Values(SIGINT, SIGTERM));

TEST(Interrupt, StopsWhileAPipeSaysNothing) {
  const ScratchFolder folder;
  make_clip(folder.path("clip.y4m"), "64x64", 30);
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  Program program({"encode", "-", "-o", folder.path("x.safetensors"), "--weights", "random:8"},
                  {"", ends[0]});
  close(ends[0]);
  const std::string bytes = read_file(folder.path("clip.y4m"));
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(wait_for_file(folder.path(), ".partial"));
  program.send(SIGINT);
  const Finished run = program.wait();
  close(ends[1]);
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_THAT(names_in(folder.path()), ElementsAre("clip.y4m"));
}

TEST(Interrupt, KeepsDecodedFramesIfAsked) {
  const ScratchFolder folder;
  Array z = Array::zeros({16, 40, 32, 32});
  for (size_t i = 0; i < z.values.size(); ++i) z.values[i] = static_cast<float>(i % 7) * 0.1F;
  write_npy(folder.path("z.npy"), z);
  const std::string frames = folder.path("frames");
  Program program({"decode", folder.path("z.npy"), "-o", frames + "/", "--keep-partial",
                   "--weights", "random:16", "--progress", "none"});
  ASSERT_TRUE(wait_for_file(folder.path(), "-1.partial"));
  const std::string writing = [&] {
    for (const std::string& name : names_in(folder.path())) {
      if (name.find("-1.partial") != std::string::npos) return folder.path(name);
    }
    return std::string();
  }();
  ASSERT_TRUE(wait_for_file(writing, "frame_000002"));
  program.send(SIGINT);
  const Finished run = program.wait();
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_THAT(names_in(folder.path()), ElementsAre("frames.partial", "z.npy"));
  EXPECT_THAT(run.err, HasSubstr("holds the first"));
}

}  // namespace
}  // namespace zoetrope::testing
