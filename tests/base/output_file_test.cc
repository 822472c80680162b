// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

size_t entries(const ScratchFolder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

std::string name_of_temporary(const PendingOutput& output) {
  return fs::path(output.temporary_path()).filename().string();
}

TEST(PendingOutput, AppearsOnlyWhenCommitted) {
  const ScratchFolder folder;
  PendingOutput output(folder.path("clip.mp4"));
  EXPECT_EQ(fs::path(output.temporary_path()).extension(), ".mp4");
  EXPECT_FALSE(fs::exists(output.temporary_path()));
  folder.write(name_of_temporary(output), "frames");
  EXPECT_FALSE(fs::exists(output.path()));
  output.commit();
  EXPECT_EQ(read_file(output.path()), "frames");
  EXPECT_EQ(entries(folder), 1U);
}

TEST(PendingOutput, LeavesNothingWithoutCommit) {
  const ScratchFolder folder;
  folder.write("clip.mp4", "old");
  {
    const PendingOutput output(folder.path("clip.mp4"));
    folder.write(name_of_temporary(output), "half");
  }
  EXPECT_EQ(read_file(folder.path("clip.mp4")), "old");
  EXPECT_EQ(entries(folder), 1U);
}

TEST(PendingOutput, ReplacesAFile) {
  const ScratchFolder folder;
  folder.write("clip.mp4", "old");
  PendingOutput output(folder.path("clip.mp4"));
  folder.write(name_of_temporary(output), "new");
  output.commit();
  EXPECT_EQ(read_file(folder.path("clip.mp4")), "new");
}

TEST(PendingOutput, ReplacesAFolderThatIsNotEmpty) {
  const ScratchFolder folder;
  folder.write("frames/old.png", "old");
  PendingOutput output(folder.path("frames"));
  folder.write(name_of_temporary(output) + "/new.png", "new");
  output.commit();
  EXPECT_FALSE(fs::exists(folder.path("frames/old.png")));
  EXPECT_EQ(read_file(folder.path("frames/new.png")), "new");
}

TEST(PendingOutput, GivesEachOutputItsOwnTemporary) {
  const ScratchFolder folder;
  const PendingOutput one(folder.path("clip.mp4"));
  const PendingOutput two(folder.path("clip.mp4"));
  EXPECT_NE(one.temporary_path(), two.temporary_path());
}

TEST(PendingOutput, APartialOutputTakesAFreeName) {
  const ScratchFolder folder;
  folder.write("clip.partial.mp4", "mine");
  for (const char* name : {"clip.partial-2.mp4", "clip.partial-3.mp4"}) {
    PendingOutput output(folder.path("clip.mp4"));
    folder.write(name_of_temporary(output), "half");
    EXPECT_EQ(output.commit_partial(), folder.path(name));
    EXPECT_EQ(read_file(folder.path(name)), "half");
  }
  EXPECT_EQ(read_file(folder.path("clip.partial.mp4")), "mine");
  EXPECT_FALSE(fs::exists(folder.path("clip.mp4")));
  EXPECT_EQ(entries(folder), 3U);
}

TEST(PendingOutput, LongNamesWorkAsFarAsTheFileSystemAllows) {
  const ScratchFolder folder;
  // Of two bytes each: a cut must not halve one.
  std::string longest = "x";
  while (longest.size() + 6 <= 255) longest += "\u00e9";
  longest += ".mp4";
  ASSERT_GE(longest.size(), 253U);
  PendingOutput output(folder.path(longest));
  const std::string temporary = name_of_temporary(output);
  EXPECT_LE(temporary.size(), 255U);
  EXPECT_NE(static_cast<unsigned char>(temporary[temporary.find(".", 1) - 1]), 0xc3);
  folder.write(temporary, "frames");
  output.commit();
  EXPECT_EQ(read_file(folder.path(longest)), "frames");

  PendingOutput half(folder.path(longest));
  folder.write(name_of_temporary(half), "half");
  EXPECT_EQ(read_file(half.commit_partial()), "half");

  EXPECT_THAT(refusal(ErrorCode::kIo, [&] { PendingOutput too(folder.path("xxx" + longest)); }),
              testing::HasSubstr("at most 255 bytes"));
}

TEST(PendingOutput, WhatALinkPointsToIsReplaced) {
  const ScratchFolder folder;
  folder.write("store/a1b2", "old");
  fs::create_symlink("store/a1b2", folder.path("second"));
  fs::create_symlink("second", folder.path("clip.mp4"));
  fs::create_symlink(folder.path("store/new.mp4"), folder.path("new.mp4"));
  for (const auto& [name, target] :
       {std::pair{"clip.mp4", "store/a1b2"}, {"new.mp4", "store/new.mp4"}}) {
    PendingOutput output(folder.path(name));
    EXPECT_EQ(fs::path(output.temporary_path()).extension(), ".mp4");
    folder.write("store/" + name_of_temporary(output), "new");
    output.commit();
    EXPECT_TRUE(fs::is_symlink(folder.path(name))) << name;
    EXPECT_EQ(read_file(folder.path(target)), "new") << name;
  }
  EXPECT_TRUE(fs::is_symlink(folder.path("second")));
  PendingOutput half(folder.path("clip.mp4"));
  folder.write("store/" + name_of_temporary(half), "half");
  EXPECT_EQ(read_file(half.commit_partial()), "half");
  EXPECT_EQ(read_file(folder.path("store/a1b2")), "new");
}

TEST(PendingOutput, RefusesLinksThatLeadNowhere) {
  const ScratchFolder folder;
  fs::create_symlink("b.mp4", folder.path("a.mp4"));
  fs::create_symlink("a.mp4", folder.path("b.mp4"));
  EXPECT_THAT(refusal(ErrorCode::kIo, [&] { PendingOutput output(folder.path("a.mp4")); }),
              testing::HasSubstr("lead nowhere"));
}

TEST(PendingOutput, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe.mp4").c_str(), 0600), 0);
  fs::create_symlink("pipe.mp4", folder.path("link.mp4"));
  for (const char* name : {"pipe.mp4", "link.mp4"}) {
    EXPECT_THAT(refusal(ErrorCode::kIo, [&] { PendingOutput output(folder.path(name)); }),
                testing::HasSubstr("found a pipe: for standard output, say -"));
    EXPECT_TRUE(fs::is_fifo(folder.path(name)));
  }
}

TEST(PendingOutput, RefusesAMissingFolder) {
  const ScratchFolder folder;
  const std::string path = folder.path("missing/clip.mp4");
  EXPECT_THAT(refusal(ErrorCode::kIo, [&] { PendingOutput output(path); }),
              testing::HasSubstr("does not exist"));
}

TEST(PendingOutput, NamesTheOutputInErrorsOfTheTemporaryPath) {
  const ScratchFolder folder;
  const PendingOutput output(folder.path("clip.mp4"));
  const Error full(ErrorCode::kIo, output.temporary_path() + ": the disk is full");
  EXPECT_EQ(output.in_its_name(full).what(), folder.path("clip.mp4") + ": the disk is full");
  EXPECT_EQ(output.in_its_name(full).code(), ErrorCode::kIo);
  const Error other(ErrorCode::kCheckpoint, "w: too large");
  EXPECT_STREQ(output.in_its_name(other).what(), "w: too large");
}

TEST(PendingOutput, RefusesToCommitWhatWasNotWritten) {
  const ScratchFolder folder;
  PendingOutput output(folder.path("clip.mp4"));
  EXPECT_THAT(refusal(ErrorCode::kIo, [&] { output.commit(); }), testing::HasSubstr("cannot move"));
}

}  // namespace
}  // namespace zoetrope
