// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU: what a model and its Streams take, and what happens where it is little.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/base/refusal.h"
#include "tests/cuda/device_buffers.h"
#include "tests/cuda/stream_runs.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

const Autoencoder& small_model() {
  static const Autoencoder loaded = Autoencoder::load("random:32:4", {.device = "cuda"});
  return loaded;
}

// All of the free memory of a device but some.
class Hoard {
 public:
  explicit Hoard(size_t left) {
    size_t free = 0;
    size_t total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "test");
    cuda::check(cudaMalloc(&data_, free - left), "test");
  }
  ~Hoard() { (void)cudaFree(data_); }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

 private:
  void* data_ = nullptr;
};

TEST(CudaMemory, FewerFramesAreTakenAtOnceWhereLittleIsFree) {
  ZOETROPE_NEEDS_GPU();
  StreamOptions large = {.height = 256, .width = 256};
  const int64_t most = small_model().open_decode(large).frames_per_step();
  large.frames_per_step = 2;
  const MemoryNeeded two = small_model().memory_needed_decode(large);
  large.frames_per_step = 0;
  const Hoard hoard(static_cast<size_t>(two.total() - two.weights) + (size_t{160} << 20));
  const int64_t fewer = small_model().open_decode(large).frames_per_step();
  EXPECT_GE(fewer, 2);
  EXPECT_LT(fewer, most);
}

TEST(CudaMemory, IsRefusedBeforeAnyIsTaken) {
  ZOETROPE_NEEDS_GPU();
  (void)small_model();
  const Hoard hoard(size_t{256} << 20);
  const int64_t before = small_model().memory_use().allocated;
  const StreamOptions large = {.height = 1024, .width = 1024};
  EXPECT_THAT(refusal(ErrorCode::kOutOfMemory, [&] { (void)small_model().open_decode(large); }),
              HasSubstr("MiB beside the weights"));
  EXPECT_EQ(small_model().memory_use().allocated, before);
}

TEST(CudaMemory, IsWhatWasPlanned) {
  ZOETROPE_NEEDS_GPU();
  for (const int64_t n : {1, 3}) {
    const auto loaded = Autoencoder::load("random:32:4", {.device = "cuda"});
    const StreamOptions wanted = {.height = 256, .width = 320, .frames_per_step = n};
    const MemoryNeeded needed = loaded.memory_needed_encode(wanted);
    const EncodeStream stream = loaded.open_encode(wanted);
    const auto taken = static_cast<double>(loaded.memory_use().allocated);
    EXPECT_NEAR(taken, static_cast<double>(needed.total()), 0.02 * taken);
  }
}

TEST(CudaMemory, IsGivenBackAndTakenAgain) {
  ZOETROPE_NEEDS_GPU();
  const auto loaded = Autoencoder::load("random:32:4", {.device = "cuda"});
  const std::vector<uint8_t> expected = [&] {
    DecodeStream stream = loaded.open_decode(options());
    return decode(stream, {kLatents});
  }();
  loaded.trim();
  const int64_t weights = loaded.memory_use().allocated;
  EXPECT_GT(weights, 0);
  for (int i = 0; i < 2; ++i) {
    {
      const DecodeStream stream = loaded.open_decode(options());
      EXPECT_THAT(refusal(ErrorCode::kInvalidArgument, [&] { loaded.unload(); }),
                  HasSubstr("found 1"));
    }
    const int64_t before = loaded.memory_use().taken;
    loaded.unload();
    EXPECT_EQ(loaded.memory_use().allocated, 0);
    EXPECT_LT(loaded.memory_use().taken, before);
    DecodeStream stream = loaded.open_decode(options());
    EXPECT_EQ(decode(stream, {kLatents}), expected);
  }
}

TEST(CudaMemory, IsUsableAfterItRanOut) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(5);
  const std::vector<float> expected = encode(small_model(), video, 0);
  {
    const Hoard hoard(size_t{256} << 20);
    const StreamOptions large = {.height = 1024, .width = 1024, .frames_per_step = 1};
    EXPECT_THAT(refusal(ErrorCode::kOutOfMemory, [&] { (void)small_model().open_decode(large); }),
                HasSubstr("MiB are free"));
    EXPECT_TRUE(same_bits(encode(small_model(), video, 1), expected));
  }
  EXPECT_TRUE(same_bits(encode(small_model(), video, 0), expected));
}

TEST(CudaMemory, ComesFromTheCallersAllocator) {
  ZOETROPE_NEEDS_GPU();
  int64_t held = 0;
  const Allocator allocator = {.allocate =
                                   [&](size_t bytes, size_t) {
                                     void* data = nullptr;
                                     cuda::check(cudaMalloc(&data, bytes), "test");
                                     held += static_cast<int64_t>(bytes);
                                     return data;
                                   },
                               .deallocate =
                                   [&](void* data, size_t bytes) {
                                     held -= static_cast<int64_t>(bytes);
                                     (void)cudaFree(data);
                                   }};
  {
    const auto loaded = Autoencoder::load("random:8:4", {.device = "cuda", .allocator = allocator});
    const StreamOptions options = {.height = 64, .width = 64, .frames_per_step = 2};
    const MemoryNeeded needed = loaded.memory_needed_decode(options);
    const DecodeStream stream = loaded.open_decode(options);
    EXPECT_NEAR(static_cast<double>(held), static_cast<double>(needed.total()),
                0.02 * static_cast<double>(needed.total()));
  }
  EXPECT_EQ(held, 0);
}

}  // namespace
}  // namespace zoetrope::testing
