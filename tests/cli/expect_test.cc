// SPDX-License-Identifier: Apache-2.0
// --expect: comparing an output with a reference.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/support/golden.h"

namespace zoetrope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const GoldenFile& golden() {
  static const GoldenFile file("tiny/case_t9_32x48");
  return file;
}

TEST(Expect, MatchAndDifferenceAreExitStatuses) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  Array latent = golden().load("latent");
  write_npy(folder.path("good.npy"), latent);
  latent.values[17] += 0.01F;
  write_npy(folder.path("bad.npy"), latent);
  const Finished match = zoetrope_tiny({"encode", folder.path("video.npy"), "-o",
                                        folder.path("a.npy"), "--expect", folder.path("good.npy")});
  EXPECT_EQ(match.status, 0) << match.err;
  EXPECT_THAT(match.out, HasSubstr("matches"));
  const Finished differs =
      zoetrope_tiny({"encode", folder.path("video.npy"), "-o", folder.path("b.npy"), "--expect",
                     folder.path("bad.npy")});
  EXPECT_EQ(differs.status, 1) << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("differs from"));
  const Finished tolerated =
      zoetrope_tiny({"encode", folder.path("video.npy"), "-o", folder.path("c.npy"), "--expect",
                     folder.path("bad.npy"), "--tolerance", "0.1"});
  EXPECT_EQ(tolerated.status, 0) << tolerated.err;
}

// Before the work: with weights that are not there, the reference is named.
TEST(Expect, AReferenceThatCannotBeComparedIsFoundFirst) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  write_npy(folder.path("z.npy"), golden().load("z"));
  folder.write("text.npy", "this is no array at all");
  const auto expect = [&](int status, const char* reference, const Words& command) {
    Words words = command;
    words.insert(words.end(), {"--expect", folder.path(reference), "--weights", "missing.pth"});
    const Finished run = zoetrope(words);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(unlike_error_line(run.err), "");
    EXPECT_THAT(run.err, HasSubstr(reference));
  };
  const Words encode = {"encode", folder.path("video.npy"), "-o", folder.path("a.safetensors")};
  const Words decode = {"decode", folder.path("z.npy"), "-o", folder.path("a.mkv")};
  const Words roundtrip = {"roundtrip", folder.path("video.npy"), "-o", folder.path("a.mkv")};
  for (const Words& command : {encode, decode, roundtrip}) {
    expect(3, "none.npy", command);
    expect(3, "text.npy", command);
  }
  for (const Words& command : {decode, roundtrip}) expect(3, "z.npy", command);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("text.npy", "video.npy", "z.npy"));
}

TEST(Expect, AnotherShapeIsFoundBeforeTheWork) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  write_npy(folder.path("z.npy"), golden().load("z"));
  write_npy(folder.path("other.npy"), Array::zeros({16, 1, 4, 6}));
  write_npy(folder.path("small.npy"), Array::zeros({3, 5, 8, 8}));
  const Words before = names_in(folder.path());
  const auto expect = [&](const Words& command, const char* reference) {
    Words words = command;
    words.insert(words.end(), {"--expect", folder.path(reference)});
    const Finished run = zoetrope_tiny(words);
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr(std::string("differs from ") + folder.path(reference)));
    EXPECT_EQ(names_in(folder.path()), before);
  };
  expect({"encode", folder.path("video.npy"), "-o", folder.path("a.npy")}, "other.npy");
  expect({"decode", folder.path("z.npy"), "-o", folder.path("a.npy")}, "small.npy");
  expect({"roundtrip", folder.path("video.npy"), "-o", folder.path("a.npy")}, "small.npy");
}

TEST(Expect, ScalesAreCompared) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  write_npy(folder.path("mean.npy"), golden().load("mean"));
  const Words raw = {"encode", folder.path("video.npy"), "--latent-scale", "raw", "-y"};
  const auto run = [&](Words words, const char* output, const char* reference) {
    words.insert(words.end(), {"-o", folder.path(output), "--expect", folder.path(reference)});
    return zoetrope_tiny(words);
  };
  for (const char* output : {"a.npy", "a.safetensors", "a.latent"}) {
    const Finished npy = run(raw, output, "mean.npy");
    EXPECT_EQ(npy.status, 0) << npy.out << npy.err;
  }
  // References that record their scale.
  for (const char* reference : {"a.safetensors", "a.latent"}) {
    const Finished same = run(raw, "b.npy", reference);
    EXPECT_EQ(same.status, 0) << same.out << same.err;
    const Finished other = run({"encode", folder.path("video.npy")}, "c.npy", reference);
    EXPECT_EQ(other.status, 2) << other.out << other.err;
    EXPECT_THAT(other.err, HasSubstr("--latent-scale raw"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("c.npy")));
}

// Whatever an array holds, it may be what is expected: here, nothing below 0.
TEST(Expect, BrightReferencesAreNoQuestion) {
  const ScratchFolder folder;
  write_npy(folder.path("z.npy"), golden().load("z"));
  Array bright = golden().load("decoded");
  for (float& value : bright.values) value = 0.5F;
  write_npy(folder.path("bright.npy"), bright);
  const Finished run = zoetrope_tiny({"decode", folder.path("z.npy"), "-o", folder.path("a.npy"),
                                      "--expect", folder.path("bright.npy")});
  EXPECT_EQ(run.status, 1) << run.err;
}

// The reference turns into a pipe during the work, so that the comparison waits for it.
TEST(Expect, AnInterruptedComparisonSaysThatTheOutputIsThere) {
  const ScratchFolder folder;
  write_npy(folder.path("z.npy"), Array::zeros({16, 40, 8, 8}));
  make_clip(folder.path("reference.y4m"), "64x64", 2);
  const std::string reference = read_file(folder.path("reference.y4m"));
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string out = folder.path("out.y4m");
  Program program({"decode", folder.path("z.npy"), "-o", out, "--expect",
                   folder.path("reference.y4m"), "--weights", "random:16"});
  ASSERT_TRUE(wait_for_file(folder.path(), "-1.partial"));  // 0 was a try, before anything else
  std::filesystem::rename(pipe, folder.path("reference.y4m"));
  ::signal(SIGPIPE, SIG_IGN);
  const int end = open(folder.path("reference.y4m").c_str(), O_WRONLY);
  program.send(SIGINT);
  EXPECT_EQ(write(end, reference.data(), reference.size()), static_cast<ssize_t>(reference.size()));
  close(end);
  const Finished run = program.wait();
  EXPECT_EQ(run.status, 130) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("is written, but was not compared"));
  EXPECT_TRUE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace zoetrope::testing
