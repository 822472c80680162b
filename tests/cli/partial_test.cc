// SPDX-License-Identifier: Apache-2.0
// --keep-partial: what is left of a long decode that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Partial, AnExistingFileKeepsItsName) {
  const ScratchFolder folder;
  write_npy(folder.path("z.npy"), Array::zeros({16, 60, 32, 32}));
  folder.write("frames.partial/holiday.png", "precious");
  folder.write("frames.partial-2", "also");
  Program program({"decode", folder.path("z.npy"), "-o", folder.path("frames/"), "--keep-partial",
                   "--weights", "random:16", "--progress", "none"});
  ASSERT_TRUE(wait_for_file(folder.path(), "-1.partial"));  // 0 was a try, before anything else
  for (const std::string& name : names_in(folder.path())) {
    if (name.find("-1.partial") != std::string::npos) {
      ASSERT_TRUE(wait_for_file(folder.path(name), "frame_000002"));
      break;
    }
  }
  program.send(SIGINT);
  const Finished run = program.wait();
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("frames.partial", "frames.partial-2", "frames.partial-3", "z.npy"));
  EXPECT_EQ(read_file(folder.path("frames.partial/holiday.png")), "precious");
  EXPECT_THAT(run.err, HasSubstr("frames.partial-3: holds the first"));
}

// Files may not grow beyond 8 KiB (16 blocks): as on a full disk, writing fails within a frame. The
// first is flat and small, the others are not.
TEST(Partial, OnlyWholeFramesAreKept) {
  const ScratchFolder folder;
  Array z = Array::zeros({16, 3, 8, 8});
  for (size_t i = 0; i < z.values.size(); ++i) {
    const bool first = i / 64 % 3 == 0;
    if (!first) z.values[i] = static_cast<float>(i * 7919 % 41) - 20;
  }
  write_npy(folder.path("z.npy"), z);
  const auto decode = [&](const char* limit, const char* output) {
    const std::string command = "ulimit -f " + std::string(limit) + "; trap '' XFSZ; " +
                                ZOETROPE_PROGRAM + " decode " + folder.path("z.npy") + " -o " +
                                folder.path(output) + " --keep-partial --weights random:8:2 2> " +
                                folder.path("err");
    return std::system(command.c_str());
  };
  ASSERT_EQ(decode("unlimited", "whole/"), 0);
  EXPECT_NE(decode("16", "cut/"), 0);
  const Words kept = names_in(folder.path("cut.partial"));
  ASSERT_FALSE(kept.empty());
  EXPECT_LT(kept.size(), names_in(folder.path("whole")).size());
  for (const std::string& name : kept) {
    EXPECT_EQ(read_file(folder.path("cut.partial/" + name)),
              read_file(folder.path("whole/" + name)));
  }
  EXPECT_THAT(read_file(folder.path("err")),
              HasSubstr("holds the first " + std::to_string(kept.size()) + " of 9 frames"));
  for (const char* output : {"cut.y4m", "cut.mkv", "cut.npy"}) {
    EXPECT_NE(decode("16", output), 0) << "what cannot be completed is not kept";
    EXPECT_THAT(read_file(folder.path("err")), HasSubstr("cannot write"));
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("cut.partial", "err", "whole", "z.npy"));
}

}  // namespace
}  // namespace zoetrope::testing
