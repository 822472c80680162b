// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include "base/dtype.h"
#include "checkpoint/checkpoint.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

// Two tensors and metadata, 20 bytes of data.
const char* const kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                            R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]}})";

std::string data_of_two() {
  return float_bytes({1, 2, 3, 4}) + little(float_to_bfloat16(-1.5F), 2) +
         little(float_to_bfloat16(8), 2);
}

// The message that a file with these bytes is refused with.
std::string refused_bytes(std::string_view bytes) {
  const ScratchFolder folder;
  const std::string path = folder.write("x.safetensors", bytes);
  return refusal(ErrorCode::kCheckpoint, [&] { SafetensorsFile file(path); });
}

std::string refused(std::string_view header, size_t data_size) {
  return refused_bytes(safetensors_bytes(header, std::string(data_size, '\0')));
}

void expect_accepted(std::string_view header, size_t data_size) {
  const ScratchFolder folder;
  SafetensorsFile file(
      folder.write("x.safetensors", safetensors_bytes(header, std::string(data_size, '\0'))));
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const ScratchFolder folder;
  const std::string path = folder.write("x.safetensors", safetensors_bytes(kHeader, data_of_two()));
  EXPECT_TRUE(looks_like_safetensors(path));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), 2U);
  const SafetensorsEntry& a = file.tensors().at("a");
  EXPECT_EQ(a.dtype, DType::kFloat32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(load_as_float(file.bytes(a).data(), a.dtype, 3), 4.0F);
  const auto checkpoint = open_checkpoint(path);
  EXPECT_EQ(checkpoint->read("a"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(checkpoint->read("b"), (std::vector<float>{-1.5, 8}));
  EXPECT_EQ(checkpoint->read("b"), (std::vector<float>{-1.5, 8}));
}

TEST(Safetensors, AcceptsPaddingScalarsEmptyTensorsAndAnyOrder) {
  expect_accepted("{}", 0);
  expect_accepted("{}     ", 0);
  expect_accepted(" \n {} ", 0);
  expect_accepted(R"({"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})", 8);
  expect_accepted(R"({"e":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]},)"
                  R"("z":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                  4);
  expect_accepted(R"({"b":{"data_offsets":[4,8],"shape":[4],"dtype":"I8"},)"
                  R"("a":{"data_offsets":[8,10],"shape":[1],"dtype":"F16"},)"
                  R"("c":{"data_offsets":[0,4],"shape":[4],"dtype":"BOOL"}})",
                  10);
}

TEST(Safetensors, RefusesEveryPrefixOfAFile) {
  const std::string whole = safetensors_bytes(kHeader, data_of_two());
  const ScratchFolder folder;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.write("cut.safetensors", whole.substr(0, size));
    refusal(ErrorCode::kCheckpoint, [&] { SafetensorsFile file(path); });
    refusal(ErrorCode::kCheckpoint, [&] { open_checkpoint(path); });
  }
}

TEST(Safetensors, RefusesBytesAfterTheData) {
  EXPECT_THAT(refused_bytes(safetensors_bytes(kHeader, data_of_two() + "x")),
              HasSubstr("the tensors take 20 bytes, the file has 21"));
}

TEST(Safetensors, RefusesHeaderLengthsThatDoNotFit) {
  EXPECT_THAT(refused_bytes(little(3, 8) + "{}"), HasSubstr("header of 3 bytes in a file of 10"));
  EXPECT_THAT(refused_bytes(little(uint64_t{1} << 63, 8) + "{}"),
              HasSubstr("header of 9223372036854775808 bytes"));
  EXPECT_THAT(refused_bytes(little(UINT64_MAX, 8) + "{}"), HasSubstr("at most 100000000"));
  EXPECT_THAT(refused_bytes(little(100'000'001, 8) + "{}"), HasSubstr("at most 100000000"));
  EXPECT_THAT(refused_bytes(little(0, 8)), HasSubstr("expected a JSON object"));
}

TEST(Safetensors, RefusesOverlappingTensors) {
  EXPECT_THAT(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                      6),
              HasSubstr("tensor b starts at byte 2 of the data; expected 4"));
  refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          4);
}

TEST(Safetensors, RefusesHoles) {
  EXPECT_THAT(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})",
                      10),
              HasSubstr("tensor b starts at byte 6 of the data; expected 4"));
  refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5);
}

TEST(Safetensors, RefusesTensorsOutsideOfTheFile) {
  EXPECT_THAT(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3),
              HasSubstr("tensor a ends at byte 4 of 3 bytes of data"));
  // 2^63 - 1 bytes each: their sum must not wrap.
  refused(
      R"({"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]},)"
      R"("b":{"dtype":"U8","shape":[0],"data_offsets":[9223372036854775807,9223372036854775807]}})",
      3);
}

TEST(Safetensors, RefusesAByteCountThatIsNotTheShapes) {
  EXPECT_THAT(refused(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20),
              HasSubstr("F32 [2,3] takes 24 bytes, but data_offsets [0,20] hold 20"));
  refused(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})", 4);
  refused(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,0]}})", 0);
}

TEST(Safetensors, RefusesShapesThatOverflow) {
  // 2^32 * 2^32 = 2^64 wraps to 0; 2^62 float32 are 2^64 bytes.
  EXPECT_THAT(
      refused(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      HasSubstr("too large"));
  refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0);
  refused(R"({"a":{"dtype":"U8","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})", 0);
  refused(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1);
}

TEST(Safetensors, RefusesNumbersThatAreNotNatural) {
  for (const char* extent :
       {"-1", "-0", "1.0", "1e0", "1.5", "18446744073709551615", "18446744073709551616",
        "9223372036854775808", "null", "true", "\"1\"", "[1]", "{}"}) {
    const std::string shape = extent;
    refused(R"({"a":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})", 1);
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,)" + shape + "]}}", 1);
  }
  EXPECT_THAT(refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1),
              HasSubstr("a: expected integers of 0 or more, found the negative number -1"));
}

TEST(Safetensors, RefusesOffsetsThatAreNoPair) {
  for (const char* offsets : {"[]", "[0]", "[0,1,2]", "[1,0]", "0", "{}", "null"}) {
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":)" + std::string(offsets) + "}}", 1);
  }
}

TEST(Safetensors, RefusesDuplicateKeys) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(refused(R"({"a":)" + entry + R"(,"a":)" + entry + "}", 0),
              HasSubstr("key a stands twice"));
  refused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0);
  refused(R"({"__metadata__":{},"__metadata__":{}})", 0);
  refused(R"({"__metadata__":{"k":"1","k":"1"}})", 0);
}

TEST(Safetensors, RefusesUnknownTypesByName) {
  for (const char* dtype : {"F8_E4M3", "F8_E5M2", "U16", "C64", "f32", "", "I4"}) {
    const std::string message = refused(
        R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":[1],"data_offsets":[0,1]}})", 1);
    EXPECT_THAT(message, HasSubstr("tensor w: dtype " + std::string(dtype) + " is not supported"));
  }
}

TEST(Safetensors, RefusesMissingAndUnknownFields) {
  refused(R"({"a":{"shape":[0],"data_offsets":[0,0]}})", 0);
  refused(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0);
  refused(R"({"a":{"dtype":"U8","shape":[0]}})", 0);
  EXPECT_THAT(refused(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", 0),
              HasSubstr("unknown field x"));
}

TEST(Safetensors, RefusesOtherForms) {
  for (const char* header : {"[]",
                             "1",
                             "\"a\"",
                             "null",
                             "",
                             "{",
                             "}",
                             "{}{}",
                             "{} x",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{,}",
                             R"({"a":1})",
                             R"({"a":null})",
                             R"({"a":true})",
                             R"({"a":"F32"})",
                             R"({"a":[]})",
                             R"({"a":{}})",
                             R"({"__metadata__":[]})",
                             R"({"__metadata__":{"k":1}})",
                             R"({"__metadata__":{"k":null}})",
                             R"({"__metadata__":{"k":{}}})",
                             R"({"__metadata__":{"k":["v"]}})",
                             R"({"a":{"dtype":["U8"],"shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"U8","shape":"0","data_offsets":[0,0]}})",
                             "{} // comment",
                             "NaN"}) {
    refused(header, 0);
  }
}

TEST(Safetensors, RefusesDeepJson) {
  constexpr size_t kDepth = 1'000'000;
  refused(std::string(kDepth, '['), 0);
  refused("{\"a\":" + std::string(kDepth, '['), 0);
  refused(R"({"a":{"dtype":"U8","data_offsets":[0,0],"shape":)" + std::string(kDepth, '['), 0);
  std::string objects;
  for (size_t i = 0; i < kDepth; ++i) objects += "{\"a\":";
  refused(objects, 0);
}

TEST(Safetensors, RefusesTextThatIsNotUtf8) {
  const std::string rest = R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  for (const char* name : {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80", "a\xfe"}) {
    refused("{\"" + std::string(name) + rest, 0);
  }
  refused("{\"__metadata__\":{\"k\":\"\xff\"}}", 0);
  refused(std::string("{\"a\0", 4) + rest, 0);
  refused("\xef\xbb\xbf{}", 0);
}

TEST(Safetensors, RefusesNamesThatCannotBePrinted) {
  const std::string rest = R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  refused("{\"a\\nb" + rest, 0);
  refused("{\"\\u0000" + rest, 0);
  refused("{\"" + rest, 0);
  refused("{\"" + std::string(5000, 'a') + rest, 0);
}

TEST(Safetensors, SaysThatAFileCannotBeOpened) {
  refusal(ErrorCode::kIo, [] { SafetensorsFile file("/no/such/file"); });
  EXPECT_FALSE(looks_like_safetensors("/no/such/file"));
}

TEST(Safetensors, IsRecognisedByItsStart) {
  const ScratchFolder folder;
  const auto looks = [&](std::string_view bytes) {
    return looks_like_safetensors(folder.write("f", bytes));
  };
  EXPECT_TRUE(looks(safetensors_bytes("{}", "")));
  EXPECT_TRUE(looks(safetensors_bytes(std::string(3000, ' ') + "{}", "")));
  EXPECT_TRUE(looks(little(5000, 8) + "{\"a\""));  // cut, but nothing else looks like it
  EXPECT_FALSE(looks(""));
  EXPECT_FALSE(looks(little(2, 8)));
  EXPECT_FALSE(looks(safetensors_bytes("[]", "")));
  EXPECT_FALSE(looks("{\"a\": 1, \"b\": {}}"));
  EXPECT_FALSE(looks_like_safetensors(folder.path()));
}

}  // namespace
}  // namespace zoetrope
