// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/torch_archive.h"

#include <gtest/gtest.h>

#include "base/dtype.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;
namespace p = pickle;

std::string refused(const std::vector<ZipEntry>& entries) {
  const ScratchFolder folder;
  const std::string path = folder.write("x.pth", zip_bytes(entries));
  return refusal(ErrorCode::kCheckpoint, [&] { open_checkpoint(path); });
}

// A checkpoint with one tensor "t".
std::vector<ZipEntry> entries_of(const p::Tensor& tensor) {
  return torch_entries(p::program(p::dict(p::text("t") + p::tensor(tensor))));
}

std::vector<float> read(const std::vector<ZipEntry>& entries, const std::string& name = "t") {
  const ScratchFolder folder;
  return open_checkpoint(folder.write("x.pth", zip_bytes(entries)))->read(name);
}

TEST(TorchArchive, ReadsATensor) {
  EXPECT_EQ(read(entries_of({})), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(TorchArchive, FollowsOffsetsAndStrides) {
  EXPECT_EQ(read(entries_of({.shape = {3, 2}, .strides = {1, 3}})),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(entries_of({.offset = 2, .shape = {4}, .strides = {1}})),
            (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(read(entries_of({.offset = 1, .shape = {3}, .strides = {2}})),
            (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(read(entries_of({.offset = 5, .shape = {2, 2}, .strides = {0, 0}})),
            (std::vector<float>{5, 5, 5, 5}));
  EXPECT_EQ(read(entries_of({.offset = 4, .shape = {}, .strides = {}})), std::vector<float>{4});
  EXPECT_TRUE(read(entries_of({.shape = {0, 9}, .strides = {9, 1}})).empty());
}

TEST(TorchArchive, SharesStorages) {
  const auto entries =
      torch_entries(p::program(p::dict(p::text("a") + p::tensor() + p::text("b") +
                                       p::tensor({.offset = 3, .shape = {3}, .strides = {1}}))));
  EXPECT_EQ(read(entries, "a"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read(entries, "b"), (std::vector<float>{3, 4, 5}));
}

TEST(TorchArchive, ReadsEveryFloatingTypeAndListsTheOthers) {
  const std::map<std::string, DType> types = {
      {"FloatStorage", DType::kFloat32},     {"HalfStorage", DType::kFloat16},
      {"BFloat16Storage", DType::kBFloat16}, {"DoubleStorage", DType::kFloat64},
      {"LongStorage", DType::kInt64},        {"IntStorage", DType::kInt32},
      {"ByteStorage", DType::kUInt8},        {"BoolStorage", DType::kBool}};
  for (const auto& [type, dtype] : types) {
    std::vector<ZipEntry> entries =
        entries_of({.type = type, .storage_elements = 2, .shape = {2}, .strides = {1}});
    entries[2].content = std::string(static_cast<size_t>(2 * size_of(dtype)), '\0');
    if (is_floating(dtype)) {
      store_from_float(entries[2].content.data(), dtype, 0, 1.5F);
      store_from_float(entries[2].content.data(), dtype, 1, -2.0F);
      EXPECT_EQ(read(entries), (std::vector<float>{1.5F, -2.0F})) << type;
    } else {
      const ScratchFolder folder;
      const auto checkpoint = open_checkpoint(folder.write("x.pth", zip_bytes(entries)));
      EXPECT_EQ(checkpoint->tensors()[0].dtype, dtype);
      refusal(ErrorCode::kCheckpoint, [&] { return checkpoint->read("t"); });
    }
  }
}

TEST(TorchArchive, UnwrapsTrainingCheckpoints) {
  const std::string weights = p::dict(p::text("w") + p::tensor());
  const auto entries = torch_entries(
      p::program(p::dict(p::text("epoch") + p::integer(3) + p::text("state_dict") + weights)));
  EXPECT_EQ(read(entries, "w").size(), 6U);
}

TEST(TorchArchive, RefusesTensorsThatLeaveTheirStorage) {
  for (const p::Tensor& tensor :
       std::vector<p::Tensor>{{.offset = 1},
                              {.shape = {2, 4}, .strides = {4, 1}},
                              {.shape = {2, 3}, .strides = {4, 1}},
                              {.offset = 6, .shape = {1}, .strides = {1}},
                              {.offset = INT64_MAX},
                              {.shape = {2}, .strides = {INT64_MAX}},
                              {.shape = {3}, .strides = {INT64_MAX}},
                              {.offset = INT64_MAX, .shape = {2}, .strides = {INT64_MAX}}}) {
    EXPECT_THAT(refused(entries_of(tensor)), HasSubstr("leave a storage of 6 elements"));
  }
}

TEST(TorchArchive, RefusesShapesThatOverflow) {
  const int64_t big = int64_t{1} << 32;
  EXPECT_THAT(refused(entries_of({.shape = {big, big}, .strides = {0, 0}})),
              HasSubstr("too large"));
  refused(entries_of({.shape = {INT64_MAX}, .strides = {0}}));
}

TEST(TorchArchive, RefusesATensorManyTimesTheFile) {
  EXPECT_THAT(refused(entries_of({.shape = {1'000'000}, .strides = {0}})), HasSubstr("too large"));
  // Each of 64 shares the storage and takes a part of the limit alone.
  const p::Tensor wide = {.shape = {2000}, .strides = {0}};
  std::string tensors;
  for (int i = 0; i < 64; ++i) {
    tensors += p::text(std::to_string(i));
    tensors += i == 0 ? p::tensor(wide) + "q\x01" : "h\x01";
  }
  EXPECT_THAT(refused(torch_entries(p::program(p::dict(tensors)))),
              HasSubstr("16 times the file's"));
}

TEST(TorchArchive, RefusesAStorageOfAnotherSize) {
  EXPECT_THAT(refused(entries_of({.storage_elements = 7})),
              HasSubstr("a storage of 7 float32 in 24 bytes"));
  refused(entries_of({.storage_elements = 5, .shape = {5}, .strides = {1}}));
  refused(entries_of({.type = "HalfStorage"}));
  refused(entries_of({.storage_elements = (int64_t{1} << 62) + 6}));  // times 4 wraps to 24
}

TEST(TorchArchive, RefusesAStorageThatIsMissing) {
  EXPECT_THAT(refused(entries_of({.key = "1"})), HasSubstr("no storage 1"));
  refused(entries_of({.key = "../data.pkl"}));
  refused(entries_of({.key = ""}));
}

TEST(TorchArchive, RefusesABigEndianArchive) {
  std::vector<ZipEntry> entries = entries_of({});
  entries[1].content = "big";
  EXPECT_THAT(refused(entries), HasSubstr("byte order big; expected little"));
  entries.erase(entries.begin() + 1);  // files of early torch do not say
  EXPECT_EQ(read(entries).size(), 6U);
}

TEST(TorchArchive, RefusesACompressedStorage) {
  std::vector<ZipEntry> entries = entries_of({});
  entries[2].method = 8;
  EXPECT_THAT(refused(entries), HasSubstr("model/data/0 is compressed"));
}

TEST(TorchArchive, RefusesADuplicateStorage) {
  std::vector<ZipEntry> entries = entries_of({});
  entries.push_back(entries[2]);
  EXPECT_THAT(refused(entries), HasSubstr("model/data/0 stands twice"));
}

TEST(TorchArchive, RefusesZipsThatAreNoCheckpoint) {
  EXPECT_THAT(refused({}), HasSubstr("it is empty"));
  EXPECT_THAT(refused({{.name = "arr_0.npy", .content = "x"}}), HasSubstr("it holds arr_0.npy"));
  refused({{.name = "data.pkl", .content = "x"}});
  refused({{.name = "a/b/data.pkl", .content = "x"}});
}

TEST(TorchArchive, RefusesTwoPickles) {
  std::vector<ZipEntry> entries = entries_of({});
  entries.push_back({.name = "other/data.pkl", .content = entries[0].content});
  EXPECT_THAT(refused(entries), HasSubstr("two data.pkl"));
}

TEST(TorchArchive, RefusesAHugePickle) {
  std::vector<ZipEntry> entries = entries_of({});
  entries[0].content.resize((size_t{64} << 20) + 1);
  EXPECT_THAT(refused(entries), HasSubstr("expected at most 67108864"));
}

TEST(TorchArchive, RunsNothing) {
  const std::string call = p::global("os", "system") + p::tuple(p::text("touch /tmp/owned")) + "R";
  EXPECT_THAT(refused(torch_entries(p::program(call))), HasSubstr("names os.system"));
}

}  // namespace
}  // namespace zoetrope
