// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/irpa.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/builders.h"
#include "tests/checkpoint/open_bytes.h"

namespace zoetrope {
namespace {

using irpa::Entry;
using testing::HasSubstr;
using zoetrope::refused;

std::string refused(const Entry& entry) {
  return refused(irpa::file({entry}, float_bytes({1, 2})));
}

TEST(Irpa, ReadsWhatTheMetadataSays) {
  Entry turbine = {.name = "b", .offset = 64, .length = 4};
  turbine.metadata = R"(PYTORCH:{"type": "Tensor", "dtype": "bfloat16", "shape": [2, 1], "x": {}})";
  const auto checkpoint =
      open_bytes(irpa::file({{.name = "a"}, turbine},
                            float_bytes({1, 2}) + std::string(56, '\0') + little(0x40003f80, 4)));
  EXPECT_EQ(checkpoint->format(), "irpa");
  EXPECT_EQ(checkpoint->read("a"), (std::vector<float>{1, 2}));
  EXPECT_EQ(checkpoint->find("b")->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(checkpoint->find("b")->dtype, DType::kBFloat16);
  EXPECT_EQ(checkpoint->read("b"), (std::vector<float>{1, 2}));
}

TEST(Irpa, RepeatsSplats) {
  const auto splat = [](const char* dtype, std::string pattern, uint64_t length) {
    return irpa::file({{.metadata = irpa::metadata(dtype, "[2,3]"),
                        .type = 1,
                        .length = length,
                        .pattern = std::move(pattern)}},
                      "");
  };
  EXPECT_EQ(open_bytes(splat("float32", float_bytes({1.5F}), 24))->read("t"),
            std::vector<float>(6, 1.5F));
  EXPECT_EQ(open_bytes(splat("float32", std::string(1, '\0'), 24))->read("t"),
            std::vector<float>(6, 0));
  EXPECT_EQ(open_bytes(splat("bfloat16", little(0x3f803f80, 4), 12))->read("t"),
            std::vector<float>(6, 1));
  EXPECT_THAT(refused(splat("bfloat16", little(0x40003f80, 4), 12)),
              HasSubstr("a splat of 4 bytes for elements of 2"));
}

TEST(Irpa, RefusesWrongSplats) {
  Entry splat = {.type = 1, .length = 8, .pattern = float_bytes({1})};
  for (const uint64_t size : {3U, 5U, 17U, 32U}) {
    splat.pattern_length = size;
    EXPECT_THAT(refused(splat), HasSubstr("expected 1, 2, 4, 8 or 16")) << size;
  }
  splat.pattern_length = 16;  // does not divide 8
  EXPECT_THAT(refused(splat), HasSubstr("that divide them"));
  Entry none = {.type = 1, .length = 8};
  EXPECT_THAT(refused(none), HasSubstr("a pattern of 0 bytes"));
}

TEST(Irpa, RefusesSplatsThatStandForTooMuch) {
  const uint64_t size = uint64_t{1} << 31U;
  const Entry splat = {.metadata = irpa::metadata("uint8", "[2147483648]"),
                       .type = 1,
                       .length = size,
                       .pattern = "x"};
  std::vector<Entry> entries = {splat, splat};
  entries[1].name = "u";
  open_bytes(irpa::file(entries, ""));
  entries.push_back(splat);
  EXPECT_THAT(refused(irpa::file(entries, "")), HasSubstr("its splats take more than"));
}

TEST(Irpa, StepsOverHolesAndKeepsUnknownBlobs) {
  const auto checkpoint = open_bytes(irpa::file(
      {{.name = "gone", .type = 0}, {.name = "__SHARK_DATASET__", .metadata = ""}, {.name = "a"}},
      float_bytes({1, 2})));
  ASSERT_EQ(checkpoint->tensors().size(), 2U);
  EXPECT_EQ(checkpoint->tensors()[0].dtype, DType::kUInt8);
  EXPECT_EQ(checkpoint->tensors()[0].shape, std::vector<int64_t>{8});
}

TEST(Irpa, SaysWhenNothingHasAShape) {
  EXPECT_THAT(refused({.metadata = ""}), HasSubstr("none of its 1 tensors has a type and shape"));
  EXPECT_EQ(open_bytes(irpa::file({}, ""))->tensors().size(), 0U);
}

TEST(Irpa, RefusesOtherVersionsAndLinkedArchives) {
  const auto with = [](const irpa::Header& header) {
    return refused(irpa::file({{}}, float_bytes({1, 2}), header));
  };
  EXPECT_THAT(with({.version = 0x10000}), HasSubstr("version 0.1"));
  EXPECT_THAT(with({.version = 1}), HasSubstr("version 1.0"));
  EXPECT_THAT(with({.header_size = 96}), HasSubstr("header"));
  EXPECT_THAT(with({.next = 256}), HasSubstr("another parameter archive follows"));
  EXPECT_THAT(with({.next = UINT64_MAX}), HasSubstr("another parameter archive follows"));
}

TEST(Irpa, RefusesExternalAndUnknownEntries) {
  EXPECT_THAT(refused({.type = 3}), HasSubstr("tensor t is in another file"));
  EXPECT_THAT(refused({.type = 4}), HasSubstr("unknown type 4"));
}

TEST(Irpa, RefusesPlacesOutsideOfTheirSegment) {
  // IREE's own reader adds without looking for overflow and takes this for bytes before the data.
  EXPECT_THAT(refused({.offset = UINT64_MAX - 15, .length = 32}), HasSubstr("of a segment of 8"));
  EXPECT_THAT(refused({.offset = 1, .length = 8}), HasSubstr("of a segment of 8"));
  EXPECT_THAT(refused({.length = UINT64_MAX}), HasSubstr("of a segment of 8"));
  EXPECT_THAT(refused(irpa::file({{}}, float_bytes({1, 2}), {.storage_length = 9})),
              HasSubstr("it was cut"));
  EXPECT_THAT(refused(irpa::file({{}}, float_bytes({1, 2}), {.storage_length = UINT64_MAX})),
              HasSubstr("it was cut"));
}

TEST(Irpa, RefusesNamesAndTablesThatLieWrong) {
  EXPECT_THAT(refused({.name_offset = 1000}), HasSubstr("a name of 1 bytes at byte 1000"));
  EXPECT_THAT(refused({.name_offset = UINT64_MAX}), HasSubstr("a name of 1 bytes"));
  EXPECT_THAT(refused({.name = ""}), HasSubstr("tensor name of 0 bytes"));
  EXPECT_THAT(refused({.name = std::string(5000, 'x')}), HasSubstr("a name of 5000 bytes"));
  EXPECT_THAT(refused({.name = "a\nb"}), HasSubstr("control characters"));
  EXPECT_THAT(refused({.metadata = std::string(70'000, 'x')}), HasSubstr("a metadata of 70000"));
  for (const uint64_t size : {1U, 59U, 60U, 75U, 77U, 1000U}) {
    EXPECT_THAT(refused({.declared_size = size}), HasSubstr("damaged parameter archive")) << size;
  }
  EXPECT_THAT(refused({.declared_size = UINT64_MAX}), HasSubstr("an entry at byte 0"));
}

TEST(Irpa, RefusesMoreEntriesThanTheTableHas) {
  for (const uint64_t count : {uint64_t{2}, uint64_t{100}, UINT64_MAX}) {
    EXPECT_THAT(refused(irpa::file({{}}, float_bytes({1, 2}), {.count = count})),
                HasSubstr("damaged parameter archive"));
  }
}

TEST(Irpa, RefusesNamesThatStandTwice) {
  EXPECT_THAT(refused(irpa::file({{}, {}}, float_bytes({1, 2}))), HasSubstr("t stands twice"));
}

TEST(Irpa, RefusesTensorsThatShareTooMuch) {
  std::vector<Entry> entries;
  const std::string data(1000, '\0');
  for (int i = 0; i < 300; ++i) {
    entries.push_back({.name = std::to_string(i),
                       .metadata = irpa::metadata("uint8", "[100000]"),
                       .length = 100'000});
  }
  EXPECT_THAT(refused(irpa::file(entries, std::string(100'000, '\0'))),
              HasSubstr("its tensors take more than"));
}

TEST(Irpa, RefusesMetadataThatDoesNotFit) {
  const auto with = [](std::string metadata) { return refused(Entry{.metadata = metadata}); };
  EXPECT_THAT(with("TENSORv0:"), HasSubstr("expected metadata as a JSON object"));
  EXPECT_THAT(with("TENSORv0:[]"), HasSubstr("expected metadata as a JSON object"));
  EXPECT_THAT(with("TENSORv0:{}"), HasSubstr("expected a dtype and a shape"));
  EXPECT_THAT(with("PYTORCH:" + std::string(60'000, '[')), HasSubstr("as a JSON object"));
  EXPECT_THAT(with(irpa::metadata("float32", "[3]")),
              HasSubstr("8 bytes; expected those of float32 [3]"));
  EXPECT_THAT(with(irpa::metadata("float32", "[-2]")), HasSubstr("whole numbers"));
  EXPECT_THAT(with(irpa::metadata("float32", "[2.5]")), HasSubstr("whole numbers"));
  EXPECT_THAT(with(irpa::metadata("float32", "[18446744073709551615]")),
              HasSubstr("whole numbers"));
  EXPECT_THAT(with(irpa::metadata("float32", "[4294967296,4294967296]")), HasSubstr("8 bytes"));
  EXPECT_THAT(with(irpa::metadata("float32", "[1,1,1,1,1,1,1,1,2]")), HasSubstr("up to 8 axes"));
  EXPECT_THAT(with(irpa::metadata("float8_e4m3fn", "[8]")), HasSubstr("float8_e4m3fn"));
}

TEST(Irpa, RefusesEveryCutBeforeTheData) {
  const std::string bytes = irpa::file({{}}, float_bytes({1, 2}));
  for (size_t size = 4; size < bytes.size(); ++size) refused(bytes.substr(0, size));
  open_bytes(bytes);
}

}  // namespace
}  // namespace zoetrope
