// SPDX-License-Identifier: Apache-2.0
// What the writers of all formats have in common, and GGUF's and IRPA's bytes.
#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

constexpr const char* kArchitecture = "wan-vae";

// Writes every tensor as bytes that count from its name's length on.
void write_bytes(const TensorInfo& tensor, FileWriter& file) {
  int64_t size = size_of(tensor.dtype);
  for (const int64_t extent : tensor.shape) size *= extent;
  std::string bytes;
  for (int64_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(i + static_cast<int64_t>(tensor.name.size()));
  }
  file.write(bytes);
}

using Write = std::function<void(const std::string& path, std::vector<TensorInfo> tensors)>;

struct Format {
  const char* name;
  Write write;
};

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"safetensors",
       [](const std::string& path, std::vector<TensorInfo> tensors) {
         write_safetensors(path, std::move(tensors), {{"format", "pt"}}, write_bytes);
       }},
      {"gguf",
       [](const std::string& path, std::vector<TensorInfo> tensors) {
         write_gguf(path, std::move(tensors), kArchitecture, write_bytes);
       }},
      {"irpa",
       [](const std::string& path, std::vector<TensorInfo> tensors) {
         write_irpa(path, std::move(tensors), write_bytes);
       }},
  };
  return kFormats;
}

std::string written(const Format& format, std::vector<TensorInfo> tensors) {
  const ScratchFolder folder;
  format.write(folder.path("f"), std::move(tensors));
  return read_file(folder.path("f"));
}

const std::vector<TensorInfo> kTensors = {{"weight", DType::kFloat32, {3, 2, 1, 2, 2}},
                                          {"a.bias", DType::kBFloat16, {7}},
                                          {"scalar", DType::kFloat16, {}},
                                          {"empty", DType::kFloat32, {0, 4}},
                                          {"count", DType::kInt64, {1}},
                                          {"double", DType::kFloat64, {2, 3}}};

TEST(CheckpointWriter, ReadersFindWhatWasWritten) {
  for (const Format& format : formats()) {
    const ScratchFolder folder;
    const auto checkpoint = open_checkpoint(folder.write("f", written(format, kTensors)));
    EXPECT_EQ(checkpoint->format(), format.name);
    ASSERT_EQ(checkpoint->tensors().size(), kTensors.size());
    for (const TensorInfo& tensor : kTensors) {
      const TensorInfo* found = checkpoint->find(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_EQ(found->dtype, tensor.dtype) << tensor.name;
      EXPECT_EQ(found->shape, tensor.shape) << format.name << tensor.name;
      const std::vector<std::byte> bytes = checkpoint->read_stored(tensor.name);
      for (size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(static_cast<uint8_t>(bytes[i]), static_cast<uint8_t>(i + tensor.name.size()));
      }
    }
  }
}

TEST(CheckpointWriter, WritesTheSameBytesInAnyOrder) {
  std::vector<TensorInfo> reversed(kTensors.rbegin(), kTensors.rend());
  for (const Format& format : formats()) {
    EXPECT_EQ(written(format, kTensors), written(format, reversed)) << format.name;
  }
}

TEST(CheckpointWriter, RefusesWhatMakesNoSense) {
  for (const Format& format : formats()) {
    const auto refused = [&](const std::vector<TensorInfo>& tensors) {
      return refusal(ErrorCode::kInvalidArgument, [&] { written(format, tensors); });
    };
    const TensorInfo a = {"a", DType::kFloat32, {1}};
    EXPECT_THAT(refused({a, a}), HasSubstr("a stands twice"));
    EXPECT_THAT(refused({{"a", DType::kFloat32, {-1}}}), HasSubstr("shape [-1]"));
    EXPECT_THAT(refused({{"a", DType::kFloat32, {INT64_MAX}}}), HasSubstr("larger than any file"));
    const TensorInfo half = {"a", DType::kInt8, {INT64_MAX / 2 + 2}};
    TensorInfo other = half;
    other.name = "b";
    EXPECT_THAT(refused({half, other}), HasSubstr("larger than any file"));
    refusal(ErrorCode::kIo, [&] { format.write("/no/such/folder/f", {}); });
    refusal(ErrorCode::kCheckpoint, [&] { written(format, {{"a\n", DType::kFloat32, {1}}}); });
  }
}

TEST(GgufWriter, WritesTheseBytes) {
  const std::string shape = little(5, 4) + little(5, 8) + little(2, 4) + little(3, 4) +
                            little(1, 4) + little(1, 4) + little(1, 4);
  const std::string data = std::string("\1\2\3\4\5\6\7\x8") + std::string(24, '\0') +
                           std::string("\1\2\3\4\5\6\7\x8\x9\xa\xb\xc") + std::string(20, '\0');
  EXPECT_EQ(written(formats()[1],
                    {{"w", DType::kBFloat16, {2, 3, 1, 1, 1}}, {"b", DType::kFloat32, {2}}}),
            gguf::file({gguf::key("general.architecture", 8, gguf::text(kArchitecture)),
                        gguf::key("comfy.gguf.orig_shape.w", 9, shape)},
                       {{"b", {2}, 0, 0}, {"w", {1, 1, 1, 6}, 30, 32}}, data));
}

TEST(GgufWriter, RefusesWhatGgmlDoesNotHold) {
  const auto refused = [&](const TensorInfo& tensor) {
    return refusal(ErrorCode::kInvalidArgument, [&] { written(formats()[1], {tensor}); });
  };
  EXPECT_THAT(refused({"mask", DType::kBool, {1}}), HasSubstr("mask is bool, which ggml has no"));
  EXPECT_THAT(refused({std::string(64, 'n'), DType::kFloat32, {1}}), HasSubstr("at most 63"));
  written(formats()[1], {{std::string(63, 'n'), DType::kFloat32, {1}}});
  EXPECT_THAT(refused({"w", DType::kFloat32, {int64_t{1} << 32, 1, 1, 1, 0}}),
              HasSubstr("extents above"));
}

TEST(IrpaWriter, WritesTheseBytes) {
  const std::string metadata =
      R"(PYTORCH:{"type": "Tensor", "dtype": "float32", "shape": [2, 1], "dtype_desc": )"
      R"({"class_name": "dtype", "is_complex": false, "is_floating_point": true, )"
      R"("is_signed": true, "itemsize": 4}})";
  std::string expected = irpa::file({{.name = "t", .metadata = metadata}}, "\1\2\3\4\5\6\7\x8");
  expected.resize(4096);
  EXPECT_EQ(written(formats()[2], {{"t", DType::kFloat32, {2, 1}}}), expected);
}

}  // namespace
}  // namespace zoetrope
