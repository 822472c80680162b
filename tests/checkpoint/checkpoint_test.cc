// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/dtype.h"
#include "tests/base/refusal.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;

// Each tensor's elements are its name's length.
class FakeCheckpoint : public Checkpoint {
 public:
  explicit FakeCheckpoint(std::vector<TensorInfo> tensors) : Checkpoint("fake.bin", "fake") {
    set_tensors(std::move(tensors));
    set_config("{}");
  }

 private:
  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    if (tensor.name == "huge") throw std::bad_alloc();
    std::array<double, 4> storage = {};  // room for any type
    for (int i = 0; i < 4 && is_floating(tensor.dtype); ++i) {
      store_from_float(storage.data(), tensor.dtype, i, static_cast<float>(tensor.name.size()));
    }
    use({.data = storage.data(), .dtype = tensor.dtype, .shape = tensor.shape});
  }
};

TensorInfo info_of(std::string name, DType dtype = DType::kFloat32) {
  return {std::move(name), dtype, {4}};
}

TEST(Checkpoint, SortsAndFindsTensors) {
  const FakeCheckpoint checkpoint({info_of("b"), info_of("a.bias"), info_of("a")});
  ASSERT_EQ(checkpoint.tensors().size(), 3U);
  EXPECT_EQ(checkpoint.tensors()[0].name, "a");
  EXPECT_EQ(checkpoint.tensors()[1].name, "a.bias");
  EXPECT_EQ(checkpoint.find("b")->name, "b");
  EXPECT_EQ(checkpoint.find("c"), nullptr);
  EXPECT_EQ(checkpoint.find(""), nullptr);
  EXPECT_EQ(checkpoint.source(), "fake.bin");
  EXPECT_EQ(checkpoint.format(), "fake");
  EXPECT_EQ(checkpoint.config(), "{}");
}

TEST(Checkpoint, RefusesANameThatStandsTwice) {
  const auto make = [] { FakeCheckpoint({info_of("a"), info_of("b"), info_of("a")}); };
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, make), HasSubstr("tensor a stands twice"));
}

TEST(Checkpoint, RefusesNamesThatCannotBePrinted) {
  for (const std::string& name :
       {std::string(), std::string("a\nb"), std::string("a\x7f"), std::string("\xff"),
        std::string(5000, 'a'), std::string(1, '\0')}) {
    refusal(ErrorCode::kCheckpoint, [&] { FakeCheckpoint({info_of(name)}); });
  }
  FakeCheckpoint({info_of("\xc3\xa9t\xc3\xa9")});
}

TEST(Checkpoint, RefusesToReadWhatIsMissingOrNotFloating) {
  const FakeCheckpoint checkpoint({info_of("a"), info_of("steps", DType::kInt64)});
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { return checkpoint.read("b"); }),
              HasSubstr("tensor b is missing"));
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { return checkpoint.read("steps"); }),
              HasSubstr("tensor steps is int64"));
}

TEST(Checkpoint, ReadsBytesOfAnyType) {
  const FakeCheckpoint checkpoint({info_of("ab", DType::kBFloat16), info_of("n", DType::kInt64)});
  const std::vector<std::byte> two = {std::byte{0}, std::byte{0x40}};  // 2.0
  std::vector<std::byte> expected;
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), two.begin(), two.end());
  EXPECT_EQ(checkpoint.read_stored("ab"), expected);
  EXPECT_EQ(checkpoint.read_stored("n"), std::vector<std::byte>(32));
  EXPECT_TRUE(checkpoint.hashes().empty());
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { return checkpoint.read_stored("b"); }),
              HasSubstr("tensor b is missing"));
}

TEST(Checkpoint, SaysWhichTensorFoundNoMemory) {
  const FakeCheckpoint checkpoint({info_of("huge")});
  EXPECT_THAT(refusal(ErrorCode::kOutOfMemory, [&] { return checkpoint.read_stored("huge"); }),
              HasSubstr("tensor huge float32 [4]"));
  EXPECT_THAT(refusal(ErrorCode::kOutOfMemory, [&] { return checkpoint.read("huge"); }),
              HasSubstr("tensor huge [4]"));
}

TEST(Checkpoint, ChecksumDependsOnWhatWasReadAlone) {
  const FakeCheckpoint one({info_of("a"), info_of("bb"), info_of("ccc")});
  const FakeCheckpoint two({info_of("ccc"), info_of("bb", DType::kBFloat16), info_of("a")});
  EXPECT_EQ(checksum_of(one.hashes()).size(), 16U);
  const std::string nothing = checksum_of(one.hashes());
  one.read("a");
  const std::string a = checksum_of(one.hashes());
  EXPECT_NE(a, nothing);
  one.read("bb");
  one.read("a");
  two.read("bb");
  EXPECT_NE(checksum_of(one.hashes()), checksum_of(two.hashes()));
  two.read("a");
  EXPECT_EQ(checksum_of(one.hashes()), checksum_of(two.hashes()));
}

TEST(Checkpoint, ChecksumTellsNamesApart) {
  const FakeCheckpoint one({info_of("a")});
  const FakeCheckpoint two({info_of("b")});  // the same values
  EXPECT_EQ(one.read("a"), two.read("b"));
  EXPECT_NE(checksum_of(one.hashes()), checksum_of(two.hashes()));
}

TEST(Checkpoint, ReadsFromSeveralThreads) {
  std::vector<TensorInfo> infos;
  for (int i = 0; i < 64; ++i) infos.push_back(info_of(std::to_string(i)));
  const FakeCheckpoint one(infos);
  const FakeCheckpoint two(infos);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const TensorInfo& tensor : one.tensors()) one.read(tensor.name);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TensorInfo& tensor : two.tensors()) two.read(tensor.name);
  EXPECT_EQ(checksum_of(one.hashes()), checksum_of(two.hashes()));
}

}  // namespace
}  // namespace zoetrope
