// SPDX-License-Identifier: Apache-2.0
#include "base/file_writer.h"

#include <gtest/gtest.h>

#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

TEST(FileWriter, WritesAndPads) {
  const ScratchFolder folder;
  FileWriter file(folder.path("f"));
  file.pad(4);
  file.write("abc");
  file.pad(4);
  file.pad(4);
  EXPECT_EQ(file.size(), 4U);
  file.write("d");
  file.close();
  EXPECT_EQ(read_file(folder.path("f")), std::string("abc\0d", 5));
}

TEST(FileWriter, SaysWhatFailed) {
  EXPECT_THAT(refusal(ErrorCode::kIo, [] { FileWriter("/no/such/folder/f"); }),
              HasSubstr("/no/such/folder/f: cannot create: No such file"));
  FileWriter full("/dev/full");
  EXPECT_THAT(refusal(ErrorCode::kIo,
                      [&] {
                        full.write(std::string(1 << 20, 'x'));
                        full.close();
                      }),
              HasSubstr("/dev/full: cannot write: the disk is full"));
}

}  // namespace
}  // namespace zoetrope
