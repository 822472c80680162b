// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

NamedTensor tensor_of(std::string name, std::vector<float>& data, std::vector<int64_t> shape) {
  NamedTensor tensor;
  tensor.name = std::move(name);
  tensor.tensor.data = data.data();
  tensor.tensor.shape = std::move(shape);
  return tensor;
}

TEST(SafetensorsWriter, WritesTheseBytes) {
  const ScratchFolder folder;
  std::vector<float> one = {1};
  write_safetensors(folder.path("f"), {tensor_of("t", one, {1, 1})}, {{"k", "v"}});
  std::string header =
      R"({"__metadata__":{"k":"v"},"t":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})";
  header.resize(2 * 64 - 8, ' ');
  EXPECT_EQ(read_file(folder.path("f")),
            std::string("\x78\0\0\0\0\0\0\0", 8) + header + std::string("\0\0\x80\x3f", 4));
}

TEST(SafetensorsWriter, WritesTheSameBytesInAnyOrder) {
  const ScratchFolder folder;
  std::vector<float> data = {1, 2, 3, 4};
  const NamedTensor a = tensor_of("a", data, {2, 2});
  const NamedTensor b = tensor_of("b", data, {4});
  write_safetensors(folder.path("1"), {a, b}, {{"x", "1"}, {"y", "2"}});
  write_safetensors(folder.path("2"), {b, a}, {{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(read_file(folder.path("1")), read_file(folder.path("2")));
}

TEST(SafetensorsWriter, StartsTheDataAtAMultipleOf64) {
  const ScratchFolder folder;
  std::vector<float> data = {1};
  for (size_t length = 1; length < 70; ++length) {
    const std::string name(length, 'n');
    write_safetensors(folder.path("f"), {tensor_of(name, data, {1})}, {});
    const SafetensorsFile file(folder.path("f"));
    ASSERT_EQ(file.tensors().at(name).offset % 64, 0U);
  }
}

TEST(SafetensorsWriter, RoundTripsEveryType) {
  const ScratchFolder folder;
  std::vector<uint8_t> bytes(3 * 8);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i);
  std::vector<NamedTensor> tensors;
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    NamedTensor tensor;
    tensor.name = std::to_string(i);
    tensor.tensor = {bytes.data(), static_cast<DType>(i), {}, {3, 1}, {1, 99}};
    tensors.push_back(tensor);
  }
  write_safetensors(folder.path("f"), tensors, {});
  const SafetensorsFile file(folder.path("f"));
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const NamedTensor& tensor : tensors) {
    const SafetensorsEntry& entry = file.tensors().at(tensor.name);
    EXPECT_EQ(entry.dtype, tensor.tensor.dtype);
    EXPECT_EQ(entry.shape, tensor.tensor.shape);
    ASSERT_EQ(entry.size, static_cast<size_t>(3 * size_of(entry.dtype)));
    EXPECT_EQ(std::memcmp(file.bytes(entry).data(), bytes.data(), entry.size), 0);
  }
}

TEST(SafetensorsWriter, WritesScalarsEmptyTensorsAndNothing) {
  const ScratchFolder folder;
  std::vector<float> one = {5};
  std::vector<float> none;
  write_safetensors(folder.path("f"), {tensor_of("e", none, {0, 2}), tensor_of("s", one, {})}, {});
  const auto checkpoint = open_checkpoint(folder.path("f"));
  EXPECT_EQ(checkpoint->read("s"), one);
  EXPECT_TRUE(checkpoint->read("e").empty());
  write_safetensors(folder.path("g"), {}, {});
  EXPECT_TRUE(SafetensorsFile(folder.path("g")).tensors().empty());
}

TEST(SafetensorsWriter, KeepsMetadataToTheByte) {
  const ScratchFolder folder;
  const std::map<std::string, std::string> metadata = {
      {"", ""}, {"quote\"\\", "line\nbreak\ttab"}, {"\xc3\xa9", "\xf0\x9f\x8e\x9e"}};
  write_safetensors(folder.path("f"), {}, metadata);
  EXPECT_EQ(SafetensorsFile(folder.path("f")).metadata(), metadata);
}

TEST(SafetensorsWriter, ReportsAFullDisk) {
  std::vector<float> data(100'000);
  const auto write = [&] { write_safetensors("/dev/full", {tensor_of("t", data, {100'000})}, {}); };
  EXPECT_THAT(refusal(ErrorCode::kIo, write), HasSubstr("the disk is full"));
  const auto write_little = [] { write_safetensors("/dev/full", {}, {}); };  // fails at the end
  EXPECT_THAT(refusal(ErrorCode::kIo, write_little), HasSubstr("the disk is full"));
}

TEST(SafetensorsWriter, ReportsAFolderThatIsMissing) {
  EXPECT_THAT(refusal(ErrorCode::kIo, [] { write_safetensors("/no/such/folder/f", {}, {}); }),
              HasSubstr("No such file"));
}

TEST(SafetensorsWriter, RefusesWhatItCannotWriteAndLeavesNoFile) {
  const ScratchFolder folder;
  std::vector<float> data(6);
  const auto refused = [&](const std::vector<NamedTensor>& tensors, ErrorCode code) {
    const std::string path = folder.path("f");
    const std::string message = refusal(code, [&] { write_safetensors(path, tensors, {}); });
    EXPECT_FALSE(std::filesystem::exists(path));
    return message;
  };
  NamedTensor transposed = tensor_of("t", data, {2, 3});
  transposed.tensor.strides = {1, 2};
  EXPECT_THAT(refused({transposed}, ErrorCode::kInvalidArgument), HasSubstr("contiguous"));
  NamedTensor null = tensor_of("t", data, {6});
  null.tensor.data = nullptr;
  EXPECT_THAT(refused({null}, ErrorCode::kInvalidArgument), HasSubstr("null"));
  refused({tensor_of("t", data, {-6})}, ErrorCode::kInvalidArgument);
  refused({tensor_of("t", data, {1, 1, 1, 1, 1, 1, 1, 1, 6})}, ErrorCode::kInvalidArgument);
  refused({tensor_of("__metadata__", data, {6})}, ErrorCode::kInvalidArgument);
  refused({tensor_of("t", data, {6}), tensor_of("t", data, {6})}, ErrorCode::kInvalidArgument);
  refused({tensor_of("a\nb", data, {6})}, ErrorCode::kCheckpoint);
}

TEST(SafetensorsWriter, RefusesMetadataThatIsNotUtf8) {
  const ScratchFolder folder;
  refusal(ErrorCode::kInvalidArgument, [&] {
    write_safetensors(folder.path("f"), {}, {{"k", "\xff"}});
  });
}

}  // namespace
}  // namespace zoetrope
