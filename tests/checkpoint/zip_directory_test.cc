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

TEST(ZipDirectory, ReadsSizesAndOffsetsOf64Bits) {
  const std::string bytes = zip_bytes(
      {{.name = "a", .content = "hello"}, {.name = "b", .content = "world!", .zip64 = true}});
  const ZipMember b = read(bytes).at("b");
  EXPECT_EQ(bytes.substr(b.offset, b.size), "world!");
  const auto refused_wide = [](int64_t size, int64_t offset) {
    refused({{.name = "b",
              .content = "world!",
              .declared_size = size,
              .declared_offset = offset,
              .zip64 = true}});
  };
  refused_wide(INT64_MAX, -1);
  refused_wide(int64_t{1} << 40, -1);
  refused_wide(-1, INT64_MAX);
  refused_wide(-1, int64_t{1} << 40);
}

TEST(ZipDirectory, FindsNothingInAnEmptyArchive) { EXPECT_TRUE(read(zip_bytes({})).empty()); }

TEST(ZipDirectory, FindsTheDirectoryBeforeAComment) {
  std::string bytes = zip_bytes({{.name = "a", .content = "hello"}});
  const std::string comment = "PK\x05\x06 is how an end starts";
  bytes.replace(bytes.size() - 2, 2, little(comment.size(), 2));
  EXPECT_EQ(read(bytes + comment).size(), 1U);
  refusal(ErrorCode::kCheckpoint, [&] { read(bytes + comment + "x"); });
}

// Adds a 64-bit end record that says `count` members, and its locator.
std::string with_end64(std::string bytes, uint64_t count) {
  const size_t end = bytes.size() - 22;
  const uint64_t size = static_cast<uint8_t>(bytes[end + 12]);
  const uint64_t offset = static_cast<uint8_t>(bytes[end + 16]);
  const std::string end64 = "PK\x06\x06" + little(44, 8) + little(0, 12) + little(count, 8) +
                            little(count, 8) + little(size, 8) + little(offset, 8);
  const std::string locator = "PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4);
  return bytes.insert(end, end64 + locator);
}

TEST(ZipDirectory, ReadsThe64BitEndRecord) {
  std::string bytes = with_end64(zip_bytes({{.name = "a", .content = "hello"}}), 1);
  EXPECT_EQ(read(bytes).size(), 1U);
  bytes.replace(bytes.size() - 14, 12, std::string(12, '\xff'));  // "see the 64-bit one"
  EXPECT_EQ(read(bytes).size(), 1U);
}

TEST(ZipDirectory, RefusesTwoEndRecordsThatDisagree) {
  const std::string bytes = zip_bytes({{.name = "a", .content = "hello"}});
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { read(with_end64(bytes, 2)); }),
              HasSubstr("two directories"));
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
              HasSubstr("its header differs"));
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
