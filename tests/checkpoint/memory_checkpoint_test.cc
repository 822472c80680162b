// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "base/dtype.h"
#include "checkpoint/checkpoint.h"
#include "tests/base/refusal.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

NamedTensor tensor_of(std::vector<float>& data, std::vector<int64_t> shape,
                      std::vector<int64_t> strides = {}) {
  NamedTensor tensor;
  tensor.name = "t";
  tensor.tensor.data = data.data();
  tensor.tensor.shape = std::move(shape);
  tensor.tensor.strides = std::move(strides);
  return tensor;
}

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::vector<float> read(const NamedTensor& tensor) {
  return checkpoint_from_tensors({tensor})->read(tensor.name);
}

TEST(MemoryCheckpoint, ListsAndReadsTensors) {
  std::vector<float> data = numbers(6);
  const auto checkpoint = checkpoint_from_tensors({tensor_of(data, {2, 3})});
  EXPECT_EQ(checkpoint->format(), "memory");
  ASSERT_EQ(checkpoint->tensors().size(), 1U);
  EXPECT_EQ(checkpoint->tensors()[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(checkpoint->read("t"), data);
}

TEST(MemoryCheckpoint, FollowsStrides) {
  std::vector<float> data = numbers(24);
  EXPECT_EQ(read(tensor_of(data, {2, 3}, {1, 2})), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(read(tensor_of(data, {2, 2}, {6, 1})), (std::vector<float>{0, 1, 6, 7}));
  EXPECT_EQ(read(tensor_of(data, {2, 2}, {0, 1})), (std::vector<float>{0, 1, 0, 1}));
  EXPECT_EQ(read(tensor_of(data, {2, 2, 2}, {1, 12, 4})),
            (std::vector<float>{0, 4, 12, 16, 1, 5, 13, 17}));
  EXPECT_EQ(read(tensor_of(data, {3}, {8})), (std::vector<float>{0, 8, 16}));
}

TEST(MemoryCheckpoint, FollowsNegativeStrides) {
  std::vector<float> data = numbers(6);
  NamedTensor tensor = tensor_of(data, {2, 3}, {-3, -1});
  tensor.tensor.data = data.data() + 5;
  EXPECT_EQ(read(tensor), (std::vector<float>{5, 4, 3, 2, 1, 0}));
}

TEST(MemoryCheckpoint, ReadsEveryFloatingType) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    std::vector<char> bytes(static_cast<size_t>(4 * size_of(dtype)));
    for (int64_t i = 0; i < 4; ++i) store_from_float(bytes.data(), dtype, i, -1.5F * i);
    NamedTensor tensor;
    tensor.name = "t";
    tensor.tensor = {bytes.data(), dtype, {}, {2, 2}, {1, 2}};
    EXPECT_EQ(read(tensor), (std::vector<float>{0, -3, -1.5, -4.5})) << name_of(dtype);
  }
}

TEST(MemoryCheckpoint, ReadsScalarsAndEmptyTensors) {
  std::vector<float> data = {7};
  EXPECT_EQ(read(tensor_of(data, {})), data);
  std::vector<float> none;
  EXPECT_TRUE(read(tensor_of(none, {3, 0})).empty());
  EXPECT_TRUE(read(tensor_of(none, {3, 0}, {5, 2})).empty());
}

TEST(MemoryCheckpoint, KeepsTheStorageThatATensorBringsAlong) {
  const auto storage = std::make_shared<std::vector<float>>(numbers(4));
  NamedTensor tensor = tensor_of(*storage, {4});
  tensor.storage = storage;
  const auto checkpoint = checkpoint_from_tensors({tensor});
  EXPECT_EQ(storage.use_count(), 3);
  EXPECT_EQ(checkpoint->read("t"), numbers(4));
}

TEST(MemoryCheckpoint, ListsIntegersButDoesNotReadThem) {
  std::vector<float> data = numbers(4);
  NamedTensor tensor = tensor_of(data, {4});
  tensor.tensor.dtype = DType::kInt32;
  const auto checkpoint = checkpoint_from_tensors({tensor});
  EXPECT_EQ(checkpoint->tensors()[0].dtype, DType::kInt32);
  refusal(ErrorCode::kCheckpoint, [&] { return checkpoint->read("t"); });
}

TEST(MemoryCheckpoint, RefusesViewsThatMakeNoSense) {
  std::vector<float> data = numbers(4);
  const auto refused = [&](const NamedTensor& tensor) {
    return refusal(ErrorCode::kInvalidArgument, [&] { checkpoint_from_tensors({tensor}); });
  };
  NamedTensor null = tensor_of(data, {4});
  null.tensor.data = nullptr;
  EXPECT_THAT(refused(null), HasSubstr("t [4]: expected data, found a null pointer"));
  EXPECT_THAT(refused(tensor_of(data, {4, -1})), HasSubstr("t [4,-1]"));
  EXPECT_THAT(refused(tensor_of(data, {2, 2}, {1})), HasSubstr("a stride for each axis"));
  EXPECT_THAT(refused(tensor_of(data, {int64_t{1} << 40, int64_t{1} << 40})), HasSubstr("63 bits"));
  EXPECT_THAT(refused(tensor_of(data, {4}, {INT64_MIN})), HasSubstr("reach past"));
  EXPECT_THAT(refused(tensor_of(data, {4}, {INT64_MAX / 4})), HasSubstr("reach past"));
  EXPECT_THAT(refused(tensor_of(data, {int64_t{1} << 61}, {0})), HasSubstr("reach past"));
  NamedTensor unknown = tensor_of(data, {4});
  unknown.tensor.dtype = static_cast<DType>(77);
  EXPECT_THAT(refused(unknown), HasSubstr("unknown dtype 77"));
}

TEST(MemoryCheckpoint, RefusesANameThatStandsTwice) {
  std::vector<float> data = numbers(4);
  const NamedTensor tensor = tensor_of(data, {4});
  refusal(ErrorCode::kCheckpoint, [&] { checkpoint_from_tensors({tensor, tensor}); });
}

}  // namespace
}  // namespace zoetrope
