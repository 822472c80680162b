// SPDX-License-Identifier: Apache-2.0
#include "media/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

std::string npy(int version, const std::string& dictionary, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0'};
  const size_t length = dictionary.size() + 1;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return file + dictionary + "\n" + data;
}

class NpyTest : public testing::Test {
 protected:
  NpyFile open(const std::string& bytes) {
    write_bytes(folder_.file("a.npy"), bytes);
    return NpyFile(folder_.file("a.npy"));
  }
  Error refusal(const std::string& bytes) {
    return error_of([&] { open(bytes); });
  }
  ScratchFolder folder_;
};

TEST_F(NpyTest, ReadsVersionsOneToThree) {
  for (int version = 1; version <= 3; ++version) {
    const NpyFile file =
        open(npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }",
                 std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
    EXPECT_EQ(file.dtype(), DType::kFloat32);
    EXPECT_EQ(file.shape(), (std::vector<int64_t>{1, 2}));
    float values[2];
    ASSERT_EQ(file.bytes().size(), sizeof(values));
    std::memcpy(values, file.bytes().data(), sizeof(values));
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], 2);
  }
}

TEST_F(NpyTest, ReadsKeysInAnyOrderAndOddShapes) {
  EXPECT_EQ(open(npy(1, "{\"shape\":(),'fortran_order':False,'descr':'|u1'}", "x")).shape(),
            std::vector<int64_t>{});
  EXPECT_EQ(open(npy(1, "{'shape': (3,), 'fortran_order': False, 'descr': '|u1'}", "xyz")).shape(),
            std::vector<int64_t>{3});
  EXPECT_EQ(open(npy(1, "{'shape': (0, 5), 'fortran_order': False, 'descr': '<f8'}", "")).shape(),
            (std::vector<int64_t>{0, 5}));
}

TEST_F(NpyTest, RefusesWhatItDoesNotRead) {
  const Error order =
      refusal(npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "1234"));
  EXPECT_EQ(order.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(order.what()).find("ascontiguousarray"), std::string::npos);
  for (const char* descr : {"'>f4'", "'<i4'", "'<c8'", "'|O'", "[('a', '<f4')]"}) {
    const std::string dictionary =
        std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_EQ(refusal(npy(1, dictionary, "1234")).code(), ErrorCode::kUnsupported) << descr;
  }
  EXPECT_EQ(refusal(npy(4, "{}", "")).code(), ErrorCode::kUnsupported);
}

TEST_F(NpyTest, PrintsAHostileTypeOnOneLine) {
  const Error type =
      refusal(npy(1, "{'descr': 'a\nb\x1b', 'fortran_order': False, 'shape': (1,)}", "1234"));
  EXPECT_NE(std::string(type.what()).find("found \"a\\x0ab\\x1b\""), std::string::npos)
      << type.what();
}

TEST_F(NpyTest, RefusesWrongSizes) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(refusal(npy(1, good, "1234567")).code(), ErrorCode::kIo);
  EXPECT_EQ(refusal(npy(1, good, "123456789")).code(), ErrorCode::kIo);
  const std::string overflow =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}";
  EXPECT_EQ(refusal(npy(1, overflow, "")).code(), ErrorCode::kIo);
}

TEST_F(NpyTest, RefusesBrokenHeaders) {
  const std::string good =
      npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234");
  for (size_t size = 0; size < good.size(); ++size) {
    const ErrorCode code = refusal(good.substr(0, size)).code();
    EXPECT_TRUE(code == ErrorCode::kIo || code == ErrorCode::kUnsupported) << size;
  }
  for (const char* dictionary :
       {"", "{", "{}", "[]", "{'descr': '<f4', 'shape': (1,)}", "{'descr': '<f4'",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': __import__('os')}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1"}) {
    EXPECT_EQ(refusal(npy(1, dictionary, "1234")).code(), ErrorCode::kIo) << dictionary;
  }
}

TEST_F(NpyTest, HeaderIsReadBackWhateverTheShape) {
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {4}, {3, 81, 480, 832}, std::vector<int64_t>(8, int64_t{1} << 62)};
  for (const std::vector<int64_t>& shape : shapes) {
    const std::string header = npy_header(DType::kFloat32, shape);
    EXPECT_EQ(header.size(), kNpyHeaderBytes);
    EXPECT_EQ(header.back(), '\n');
  }
  const std::vector<int64_t> shape = {2, 1};
  const NpyFile file = open(npy_header(DType::kFloat16, shape) + "1234");
  EXPECT_EQ(file.shape(), shape);
  EXPECT_EQ(file.dtype(), DType::kFloat16);
}

TEST_F(NpyTest, LooksAtTheStartOnly) {
  write_bytes(folder_.file("a"), "\x93NUMPY and then nothing of use");
  write_bytes(folder_.file("b"), "\x93NUMP");
  EXPECT_TRUE(looks_like_npy(folder_.file("a")));
  EXPECT_FALSE(looks_like_npy(folder_.file("b")));
  EXPECT_FALSE(looks_like_npy(folder_.file("missing")));
}

}  // namespace
}  // namespace zoetrope::media
