// SPDX-License-Identifier: Apache-2.0
// Standard output and error that are full or closed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

class StandardStreams : public ::testing::Test {
 protected:
  void SetUp() override { write_npy(folder_.path("z.npy"), Array::zeros({16, 2, 4, 4})); }

  // Decodes to `output` with `more` at the end of the shell's line. Returns the exit status.
  int decode(const std::string& output, const std::string& more) {
    const std::string line =
        fmt::format("{} decode '{}' -o '{}' --weights random:8:2 {}", ZOETROPE_PROGRAM,
                    folder_.path("z.npy"), folder_.path(output), more);
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  ScratchFolder folder_;
};

TEST_F(StandardStreams, AnErrorStreamThatIsFullStopsNothing) {
  ASSERT_EQ(decode("want.npy", "> /dev/null 2> /dev/null"), 0);
  for (const char* progress : {"auto", "bar", "lines", "json"}) {
    const std::string name = fmt::format("{}.npy", progress);
    EXPECT_EQ(decode(name, fmt::format("--progress {} >/dev/null 2>/dev/full", progress)), 0);
    EXPECT_EQ(read_file(folder_.path(name)), read_file(folder_.path("want.npy"))) << progress;
  }
  EXPECT_EQ(decode("nowhere/c.npy", "> /dev/null 2> /dev/full"), 3);
}

TEST_F(StandardStreams, WhatIsPrintedGoesIntoNoOutput) {
  ASSERT_EQ(decode("want.npy", "> /dev/null 2> /dev/null"), 0);
  for (const char* closed : {"> /dev/null 2>&-", "< /dev/null > /dev/null 2>&-",
                             "<&- > /dev/null 2>&-", "<&- > /dev/null 2> /dev/null"}) {
    EXPECT_EQ(decode("got.npy", fmt::format("-y {}", closed)), 0) << closed;
    EXPECT_EQ(read_file(folder_.path("got.npy")), read_file(folder_.path("want.npy"))) << closed;
  }
  // What standard output should have got is missed.
  EXPECT_EQ(decode("got.npy", "-y >&- 2> /dev/null"), 3);
  EXPECT_EQ(read_file(folder_.path("got.npy")), read_file(folder_.path("want.npy")));
}

TEST_F(StandardStreams, AClosedPipeEndsWhatOnlyPrintsInSilence) {
  const std::string errors = folder_.path("errors.txt");
  const std::string status = folder_.path("status.txt");
  // More than a pipe holds.
  const std::string plans = "inspect random:8 random:8 random:8 --plan decode.next --json";
  const std::string line = fmt::format("({} {} 2> {}; echo $? > {}) | head -c 1", ZOETROPE_PROGRAM,
                                       plans, errors, status);
  ASSERT_EQ(std::system(fmt::format("{} > /dev/null", line).c_str()), 0);
  EXPECT_EQ(read_file(status), fmt::format("{}\n", 128 + SIGPIPE));
  EXPECT_EQ(read_file(errors), "");
}

}  // namespace
}  // namespace zoetrope::testing
