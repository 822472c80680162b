// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/zip_directory.h"

#include <gtest/gtest.h>

#include "tests/base/refusal.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

std::map<std::string, ZipMember> read(const std::string& bytes) {
  return read_zip_directory(std::as_bytes(std::span(bytes)), "x.pth");
}

std::string refused(const std::vector<ZipEntry>& entries) {
  return refusal(ErrorCode::kCheckpoint, [&] { read(zip_bytes(entries)); });
}

TEST(ZipDirectory, FindsTheContentOfEachMember) {
  const std::string bytes = zip_bytes({{.name = "a/x", .content = "hello"},
                                       {.name = "a/empty"},
                                       {.name = "b", .content = "world!"}});
  const auto members = read(bytes);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(bytes.substr(members.at("a/x").offset, members.at("a/x").size), "hello");
  EXPECT_EQ(bytes.substr(members.at("b").offset, members.at("b").size), "world!");
  EXPECT_EQ(members.at("a/empty").size, 0U);
}

TEST(ZipDirectory, RefusesAnEmptyArchive) {
  EXPECT_THAT(refused({}), HasSubstr("no directory at the end"));
}

TEST(ZipDirectory, RefusesACompressedMember) {
  EXPECT_THAT(refused({{.name = "a", .content = "xxxx", .method = 8}}),
              HasSubstr("member a is compressed"));
}

TEST(ZipDirectory, RefusesAnEncryptedMember) {
  for (const uint16_t flag : {0x0001, 0x0040, 0x2000}) {
    EXPECT_THAT(refused({{.name = "a", .content = "xxxx", .flags = flag}}),
                HasSubstr("member a is encrypted"));
  }
}

TEST(ZipDirectory, RefusesANameThatStandsTwice) {
  EXPECT_THAT(refused({{.name = "a", .content = "1"}, {.name = "a", .content = "2"}}),
              HasSubstr("a stands twice"));
}

TEST(ZipDirectory, RefusesMembersThatOverlap) {
  // The second entry of the directory points to the first member, with its name.
  EXPECT_THAT(refused({{.name = "a", .content = "1234"},
                       {.name = "a", .content = "1234", .declared_offset = 0}}),
              HasSubstr("stands twice"));
  // A member whose content covers the header of the next one.
  EXPECT_THAT(refused({{.name = "a", .content = "12", .declared_size = 20},
                       {.name = "b", .content = std::string(100, 'b')}}),
              HasSubstr("a overlaps what follows it"));
  // A member that reaches into the directory.
  EXPECT_THAT(refused({{.name = "a", .content = "12", .declared_size = 20}}),
              HasSubstr("a overlaps what follows it"));
}

TEST(ZipDirectory, RefusesMembersOutsideOfTheFile) {
  EXPECT_THAT(refused({{.name = "a", .content = "12", .declared_size = 1 << 20}}),
              HasSubstr("outside of the file"));
  refused({{.name = "a", .content = "12", .declared_offset = 1 << 20}});
  refused({{.name = "a", .content = "12", .declared_offset = 7}});
  refused({{.name = "a", .content = "12", .declared_size = 0xfffffffe}});
}

TEST(ZipDirectory, RefusesAnotherNameInTheMembersOwnHeader) {
  EXPECT_THAT(refused({{.name = "aa", .content = "12", .local_name = "ab"}}),
              HasSubstr("its header has another name"));
  refused({{.name = "aa", .content = "12", .local_name = "aaa"}});
}

TEST(ZipDirectory, RefusesEveryPrefix) {
  const std::string whole =
      zip_bytes({{.name = "a", .content = "hello"}, {.name = "b", .content = "world"}});
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    refusal(ErrorCode::kCheckpoint, [&] { read(whole.substr(0, size)); });
  }
}

TEST(ZipDirectory, RefusesACountThatIsNotTheDirectorys) {
  std::string bytes = zip_bytes({{.name = "a", .content = "hello"}});
  const size_t end = bytes.size() - 22;
  for (const size_t at : {end + 8, end + 10}) bytes[at] = 2;
  refusal(ErrorCode::kCheckpoint, [&] { read(bytes); });
}

TEST(ZipDirectory, PrintsHostileNamesOnOneLine) {
  EXPECT_THAT(refused({{.name = "a\n\xff", .content = "1", .method = 8}}),
              HasSubstr("a\\x0a\\xff"));
}

}  // namespace
}  // namespace zoetrope
