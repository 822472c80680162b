// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/builders.h"
#include "tests/checkpoint/open_bytes.h"

namespace zoetrope {
namespace {

using gguf::Tensor;
using testing::HasSubstr;

std::string two_floats() { return float_bytes({1, 2}); }

std::string shape_key(std::string_view tensor, const std::vector<uint64_t>& shape, bool wide) {
  std::string value = little(wide ? 11 : 5, 4) + little(shape.size(), 8);
  for (const uint64_t extent : shape) value += little(extent, wide ? 8 : 4);
  return gguf::key(std::string(kGgufShapeKey).append(tensor), 9, value);
}

TEST(Gguf, ReadsTensorsOfEveryPlainType) {
  for (const uint32_t version : {2U, 3U}) {
    const auto checkpoint = open_bytes(gguf::file(
        {},
        {{"f32", {3, 2}, 0, 0}, {"bf16", {2}, 30, 32}, {"i64", {1}, 27, 64}, {"f16", {}, 1, 96}},
        float_bytes({0, 1, 2, 3, 4, 5}) + std::string(8, '\0') + little(0x40003f80, 32) +
            little(7, 32) + little(0x3c00, 2),
        version));
    EXPECT_EQ(checkpoint->format(), "gguf");
    EXPECT_EQ(checkpoint->find("f32")->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(checkpoint->read("f32"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(checkpoint->read("bf16"), (std::vector<float>{1, 2}));
    EXPECT_EQ(checkpoint->read("f16"), (std::vector<float>{1}));
    EXPECT_EQ(checkpoint->find("f16")->shape, std::vector<int64_t>{});
    EXPECT_EQ(checkpoint->find("i64")->dtype, DType::kInt64);
  }
}

TEST(Gguf, StepsOverKeysOfEveryType) {
  std::vector<std::string> keys;
  const std::vector<size_t> sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  for (uint32_t type = 0; type < sizes.size(); ++type) {
    if (sizes[type] == 0) continue;
    const std::string name = fmt::format("k{}", type);
    keys.push_back(gguf::key(name, type, little(1, sizes[type])));
    keys.push_back(
        gguf::key(name + "s", 9, little(type, 4) + little(2, 8) + little(1, 2 * sizes[type])));
  }
  keys.push_back(gguf::key("text", 8, gguf::text("hello")));
  keys.push_back(
      gguf::key("texts", 9, little(8, 4) + little(2, 8) + gguf::text("a") + gguf::text("bc")));
  keys.push_back(gguf::key(
      "lists", 9, little(9, 4) + little(1, 8) + little(0, 4) + little(2, 8) + little(0, 2)));
  const auto checkpoint = open_bytes(gguf::file(keys, {{}}, two_floats()));
  EXPECT_EQ(checkpoint->read("t"), (std::vector<float>{1, 2}));
}

TEST(Gguf, TakesTheAlignmentOfTheFile) {
  std::string bytes = gguf::file({gguf::key("general.alignment", 4, little(128, 4))}, {{}}, "");
  bytes.resize(128);
  EXPECT_EQ(open_bytes(bytes + two_floats())->read("t"), (std::vector<float>{1, 2}));
  for (const uint64_t alignment : {0U, 48U, 1U << 20U}) {
    EXPECT_THAT(refused(gguf::file({gguf::key("general.alignment", 4, little(alignment, 4))}, {{}},
                                   two_floats())),
                HasSubstr("a power of two"));
  }
  EXPECT_THAT(
      refused(gguf::file({gguf::key("general.alignment", 10, little(64, 8))}, {{}}, two_floats())),
      HasSubstr("a power of two"));
}

TEST(Gguf, RestoresShapesThatFourDimensionsDidNotHold) {
  const std::vector<Tensor> flat = {{.name = "c.weight", .dims = {32}}};
  const std::string data(128, '\0');
  for (const bool wide : {false, true}) {
    const auto kept =
        open_bytes(gguf::file({shape_key("c.weight", {2, 4, 1, 2, 2}, wide)}, flat, data));
    EXPECT_EQ(kept->find("c.weight")->shape, (std::vector<int64_t>{2, 4, 1, 2, 2}));
  }
  EXPECT_THAT(refused(gguf::file({shape_key("c.weight", {2, 4, 1, 2, 3}, false)}, flat, data)),
              HasSubstr("tensor c.weight: shape [2,4,1,2,3] was kept of [32]"));
  EXPECT_THAT(refused(gguf::file({gguf::key("comfy.gguf.orig_shape.c.weight", 4, little(1, 4))},
                                 flat, data)),
              HasSubstr("expected an array of up to 8 integers"));
  // stable-diffusion.cpp's way.
  const auto folded = open_bytes(
      gguf::file({}, {{"c.weight", {2, 2, 1, 8}, 0, 0}, {"c.bias", {2}, 0, 128}}, data + data));
  EXPECT_EQ(folded->find("c.weight")->shape, (std::vector<int64_t>{2, 4, 1, 2, 2}));
  const auto plain = open_bytes(
      gguf::file({}, {{"c.weight", {2, 2, 1, 8}, 0, 0}, {"c.bias", {8}, 0, 128}}, data + data));
  EXPECT_EQ(plain->find("c.weight")->shape, (std::vector<int64_t>{8, 1, 2, 2}));
  constexpr uint64_t kHuge = uint64_t{1} << 62U;  // beside an axis of 2 no 63 bits would hold it
  const auto empty = open_bytes(
      gguf::file({}, {{"c.weight", {kHuge, 1, 1, 0}, 0, 0}, {"c.bias", {2}, 0, 0}}, data));
  EXPECT_EQ(empty->find("c.weight")->shape, (std::vector<int64_t>{0, 1, 1, int64_t{kHuge}}));
}

TEST(Gguf, RefusesOtherVersions) {
  EXPECT_THAT(refused(gguf::file({}, {{}}, two_floats(), 1)), HasSubstr("version 1"));
  EXPECT_THAT(refused(gguf::file({}, {{}}, two_floats(), 4)), HasSubstr("version 4"));
  EXPECT_THAT(refused(gguf::file({}, {{}}, two_floats(), 0x03000000)), HasSubstr("big-endian"));
}

TEST(Gguf, RefusesQuantisedTensors) {
  EXPECT_THAT(refused(gguf::file({}, {{"t", {32}, 8, 0}}, std::string(34, '\0'))),
              HasSubstr("tensor t is Q8_0; expected F32, F16 or BF16"));
  EXPECT_THAT(refused(gguf::file({}, {{"t", {32}, 99, 0}}, std::string(34, '\0'))),
              HasSubstr("ggml type 99"));
}

TEST(Gguf, RefusesEveryCut) {
  const std::string bytes =
      gguf::file({gguf::key("general.architecture", 8, gguf::text("x"))}, {{}}, two_floats());
  for (size_t size = 4; size < bytes.size(); ++size) {
    EXPECT_THAT(refused(bytes.substr(0, size)), HasSubstr("cut")) << size;
  }
  open_bytes(bytes);
}

TEST(Gguf, RefusesTensorsThatLieWrong) {
  const std::string data(64, '\0');
  const auto two = [&](uint64_t second) {
    return refused(gguf::file({}, {{"a", {16}, 0, 0}, {"b", {2}, 0, second}}, data));
  };
  EXPECT_THAT(two(32), HasSubstr("tensor b starts at byte 32 of the data; expected a multiple of "
                                 "32 from 64 on"));
  EXPECT_THAT(two(64), HasSubstr("tensor b ends after the file"));
  EXPECT_THAT(two(UINT64_MAX - 31), HasSubstr("tensor b ends after the file"));
  EXPECT_THAT(refused(gguf::file({}, {{"a", {2}, 0, 8}}, data)), HasSubstr("a multiple of 32"));
  EXPECT_THAT(refused(gguf::file({}, {{"a", {2}, 0, 0}, {"a", {2}, 0, 32}}, data)),
              HasSubstr("tensor a stands twice"));
}

TEST(Gguf, RefusesSizesThatOverflow) {
  for (const std::vector<uint64_t>& dims : {std::vector<uint64_t>{UINT64_MAX},
                                            {uint64_t{1} << 62U},
                                            {uint64_t{1} << 32U, uint64_t{1} << 32U}}) {
    EXPECT_THAT(refused(gguf::file({}, {{"a", dims, 0, 0}}, two_floats())),
                HasSubstr("is too large"));
  }
  EXPECT_THAT(refused(gguf::file({}, {{"a", {1, 1, 1, 1, 1, 1}, 0, 0}}, two_floats())),
              HasSubstr("6 dimensions"));
}

TEST(Gguf, RefusesCountsThatTheFileCannotHold) {
  const std::string magic = std::string("GGUF") + little(3, 4);
  EXPECT_THAT(refused(magic + little(UINT64_MAX, 8) + little(0, 8)), HasSubstr("expected at most"));
  EXPECT_THAT(refused(magic + little(0, 8) + little(UINT64_MAX, 8)), HasSubstr("expected at most"));
  EXPECT_THAT(refused(magic + little(100'000, 8) + little(0, 8)), HasSubstr("it was cut"));
  const auto array = [](uint64_t type, uint64_t count) {
    return gguf::file({gguf::key("a", 9, little(type, 4) + little(count, 8))}, {}, "");
  };
  EXPECT_THAT(refused(array(8, UINT64_MAX)), HasSubstr("an array of"));
  EXPECT_THAT(refused(array(0, uint64_t{1} << 40U)), HasSubstr("an array of"));
  EXPECT_THAT(refused(array(12, 40)), HasSubstr("it was cut"));
  EXPECT_THAT(refused(array(13, 1)), HasSubstr("unknown type 13"));
  EXPECT_THAT(refused(gguf::file({gguf::key("a", 8, little(UINT64_MAX, 8))}, {}, "")),
              HasSubstr("a text of"));
}

TEST(Gguf, RefusesDeepArraysAndKeysThatStandTwice) {
  std::string value;
  for (int i = 0; i < 1000; ++i) value += little(9, 4) + little(1, 8);
  EXPECT_THAT(refused(gguf::file({gguf::key("a", 9, value)}, {}, "")), HasSubstr("more than 4"));
  EXPECT_THAT(refused(gguf::file({gguf::key("a", 0, "1"), gguf::key("a", 0, "1")}, {}, "")),
              HasSubstr("key a stands twice"));
}

}  // namespace
}  // namespace zoetrope
