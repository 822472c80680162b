// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string_view>

#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"

namespace zoetrope {
namespace {

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HoldsTheFilesBytes) {
  const ScratchFolder folder;
  const std::string path = folder.write("file", std::string_view("a\0b", 3));
  const MappedFile file(path);
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(text_of(file), std::string_view("a\0b", 3));
}

TEST(MappedFile, MapsAnEmptyFile) {
  const ScratchFolder folder;
  const MappedFile file(folder.write("empty", ""));
  EXPECT_TRUE(file.bytes().empty());
  file.release(0, 0);
}

TEST(MappedFile, NamesWhatCannotBeOpened) {
  const ScratchFolder folder;
  const std::string missing = folder.path("missing");
  const std::string message = refusal(ErrorCode::kIo, [&] { MappedFile file(missing); });
  EXPECT_THAT(message, testing::HasSubstr(missing));
  EXPECT_THAT(message, testing::HasSubstr("No such file"));
}

TEST(MappedFile, RefusesFoldersAndDevices) {
  const ScratchFolder folder;
  refusal(ErrorCode::kIo, [&] { MappedFile file(folder.path()); });
  refusal(ErrorCode::kIo, [] { MappedFile file("/dev/null"); });
}

TEST(MappedFile, RefusesAPipeThatNobodyWritesTo) {
  const ScratchFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(ErrorCode::kIo, [&] { MappedFile file(pipe); }),
              testing::HasSubstr("expected a file"));
}

TEST(MappedFile, ReadsTheSameAfterRelease) {
  const ScratchFolder folder;
  std::string bytes(100'000, '\0');  // many pages, the last one not full
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 / 7);
  const MappedFile file(folder.write("file", bytes));
  EXPECT_EQ(text_of(file), bytes);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4096}, size_t{99'999}}) {
    file.release(offset, bytes.size() - offset);
    EXPECT_EQ(text_of(file), bytes);
  }
}

}  // namespace
}  // namespace zoetrope
