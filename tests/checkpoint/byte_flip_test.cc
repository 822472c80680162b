// SPDX-License-Identifier: Apache-2.0
// Files with one byte changed, at every place that is not a tensor's content: each must open or be
// refused with an Error. Run under the sanitizers, this also shows that nothing is read outside.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

const std::string kTiny = ZOETROPE_TEST_DATA "/golden/tiny/";

// Changes bytes of a file in place.
class Patcher {
 public:
  explicit Patcher(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~Patcher() { close(fd_); }
  Patcher(const Patcher&) = delete;
  Patcher& operator=(const Patcher&) = delete;

  void put(size_t at, char byte) const {
    ASSERT_EQ(pwrite(fd_, &byte, 1, static_cast<off_t>(at)), 1);
  }

 private:
  int fd_;
};

struct Outcome {
  int opened = 0;
  int refused = 0;
};

void open_and_read(const std::string& path, Outcome& outcome) {
  try {
    const auto checkpoint = open_checkpoint(path);
    ++outcome.opened;
    for (const TensorInfo& tensor : checkpoint->tensors()) {
      if (tensor.shape.size() == 1) checkpoint->read(tensor.name);  // the small ones
    }
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(error.code() == ErrorCode::kCheckpoint || error.code() == ErrorCode::kIo)
        << message;
    ++outcome.refused;
  }
}

// Changes bytes [begin, end) of `bytes` one at a time. In a small file each byte is changed in
// every bit alone and in all at once; in a large one every 13th byte in one bit, another each time
// (13 meets every offset within the records there).
Outcome sweep(const std::string& bytes, size_t begin, size_t end) {
  const ScratchFolder folder;
  const std::string path = folder.write("weights", bytes);
  const Patcher patcher(path);
  Outcome outcome;
  const bool small = bytes.size() < 2000;
  for (size_t at = begin; at < end; at += small ? 1 : 13) {
    std::vector<int> flips = {1 << (at % 8)};
    if (small) flips = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    for (const int flip : flips) {
      patcher.put(at, static_cast<char>(bytes[at] ^ flip));
      open_and_read(path, outcome);
    }
    patcher.put(at, bytes[at]);
  }
  return outcome;
}

TEST(ByteFlip, SafetensorsHeader) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                             R"("a.bias":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]}}   )";
  const std::string bytes = safetensors_bytes(header, std::string(20, '\1'));
  const Outcome outcome = sweep(bytes, 0, 8 + header.size());
  EXPECT_GT(outcome.refused, 0);
  EXPECT_GT(outcome.opened, 0);  // a letter of a name, for one
}

TEST(ByteFlip, Gguf) {
  const std::string bytes = gguf::file(
      {gguf::key("general.alignment", 4, little(32, 4)),
       gguf::key("tokens", 9, little(8, 4) + little(2, 8) + gguf::text("a") + gguf::text("b"))},
      {{"a.weight", {2, 1}, 0, 0}, {"a.bias", {2}, 30, 32}}, std::string(36, '\1'));
  const Outcome outcome = sweep(bytes, 0, bytes.size());
  EXPECT_GT(outcome.refused, 0);
  EXPECT_GT(outcome.opened, 0);
}

TEST(ByteFlip, Irpa) {
  const std::string bytes =
      irpa::file({{.name = "data"},
                  {.name = "splat", .type = 1, .length = 8, .pattern = float_bytes({1})},
                  {.name = "gone", .type = 0},
                  {.name = "blob", .metadata = ""}},
                 float_bytes({1, 2}));
  const Outcome outcome = sweep(bytes, 0, bytes.size());
  EXPECT_GT(outcome.refused, 0);
  EXPECT_GT(outcome.opened, 0);
}

TEST(ByteFlip, TorchPickle) {
  const std::string bytes = read_file(kTiny + "Wan2.1_VAE.pth");
  const size_t first_storage = bytes.find("PK\x03\x04", 1);
  ASSERT_LT(first_storage, 30'000U);
  const Outcome outcome = sweep(bytes, 0, first_storage);
  EXPECT_GT(outcome.refused, 0);
  EXPECT_GT(outcome.opened, 0);
}

TEST(ByteFlip, TorchDirectory) {
  const std::string bytes = read_file(kTiny + "Wan2.1_VAE.pth");
  const Outcome outcome = sweep(bytes, bytes.find("PK\x01\x02"), bytes.size());
  EXPECT_GT(outcome.refused, 0);
}

TEST(ByteFlip, TorchMemberHeaders) {
  const std::string bytes = read_file(kTiny + "Wan2.1_VAE.pth");
  const std::string local = "PK\x03\x04";
  int members = 0;
  Outcome outcome;
  for (size_t at = bytes.find(local, 1); at != std::string::npos; at = bytes.find(local, at + 1)) {
    const Outcome one = sweep(bytes, at, at + 30 + std::string("Wan2.1_VAE/data/0").size());
    outcome.refused += one.refused;
    ++members;
  }
  EXPECT_EQ(members, 195);
  EXPECT_GT(outcome.refused, 0);
}

TEST(ByteFlip, SmallTorchFile) {
  const std::string pickle = pickle::program(
      pickle::dict(pickle::text("t") + pickle::tensor({.shape = {6}, .strides = {1}})));
  const std::string bytes = zip_bytes(torch_entries(pickle));
  const Outcome outcome = sweep(bytes, 0, bytes.size());
  EXPECT_GT(outcome.refused, 0);
  EXPECT_GT(outcome.opened, 0);
}

}  // namespace
}  // namespace zoetrope
