// SPDX-License-Identifier: Apache-2.0
// Streams on a GPU: order, cuts, captured launches and memory.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <thread>
#include <vector>

#include "tests/base/refusal.h"
#include "tests/cuda/device_buffers.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHeight = 40;
constexpr int64_t kWidth = 56;
constexpr int64_t kFrame = kHeight * kWidth * 3;
constexpr int64_t kLatentFrame = kHeight / 8 * kWidth / 8 * 16;
constexpr int64_t kLatents = 9;
constexpr int64_t kFrames = 1 + (kLatents - 1) * 4;

const Autoencoder& model() {
  static const Autoencoder loaded = Autoencoder::load("random:32:4", {.device = "cuda"});
  return loaded;
}

StreamOptions options(int64_t frames_per_step = 2) {
  return {.height = kHeight, .width = kWidth, .frames_per_step = frames_per_step};
}

TensorView video_view(void* data, int64_t begin, int64_t frames, DeviceKind kind) {
  return {.data = static_cast<std::byte*>(data) + begin * kFrame,
          .dtype = DType::kUInt8,
          .device = {.kind = kind},
          .shape = {frames, kHeight, kWidth, 3}};
}

// (16, frames, h, w) with frames outermost in memory.
TensorView latent_view(void* data, int64_t begin, int64_t frames, DeviceKind kind) {
  constexpr int64_t kPlane = kLatentFrame / 16;
  return {.data = static_cast<float*>(data) + begin * kLatentFrame,
          .dtype = DType::kFloat32,
          .device = {.kind = kind},
          .shape = {16, frames, kHeight / 8, kWidth / 8},
          .strides = {kPlane, kLatentFrame, kWidth / 8, 1}};
}

std::vector<float> random_latents() {
  std::vector<float> latents(static_cast<size_t>(kLatents * kLatentFrame));
  uint32_t state = 7;
  for (float& value : latents) {
    state = state * 1664525U + 1;
    value = static_cast<float>(state >> 8) * 0x1p-23F - 1;
  }
  return latents;
}

// Pushes the latents in the given cuts.
std::vector<uint8_t> decode(DecodeStream& stream, const std::vector<int64_t>& cuts) {
  std::vector<float> latents = random_latents();
  std::vector<uint8_t> video(static_cast<size_t>(kFrames * kFrame));
  int64_t at = 0;
  int64_t frame = 0;
  for (const int64_t count : cuts) {
    const int64_t frames = stream.ready(count);
    stream.push(latent_view(latents.data(), at, count, DeviceKind::kCpu),
                video_view(video.data(), frame, frames, DeviceKind::kCpu));
    at += count;
    frame += frames;
  }
  EXPECT_EQ(frame, kFrames);
  return video;
}

std::vector<uint8_t> decode_whole() {
  DecodeStream stream = model().open_decode(options());
  return decode(stream, {kLatents});
}

TEST(CudaStreams, GiveTheSameBitsForAnyCut) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  for (const int64_t n : {1, 2, 3, 8}) {
    DecodeStream stream = model().open_decode(options(n));
    EXPECT_EQ(decode(stream, {kLatents}), expected) << n;
    stream.reset();
    EXPECT_EQ(decode(stream, {1, 1, 2, 3, 2}), expected) << n;
    stream.reset();
    EXPECT_EQ(decode(stream, {4, 5}), expected) << n;
  }
}

// From the second time on launches are captured ones.
TEST(CudaStreams, GiveTheSameBitsAgainAndAgain) {
  ZOETROPE_NEEDS_GPU();
  DecodeStream stream = model().open_decode(options());
  const std::vector<uint8_t> expected = decode(stream, {1, 2, 2, 2, 2});
  for (int i = 0; i < 4; ++i) {
    stream.reset();
    EXPECT_EQ(decode(stream, {1, 2, 2, 2, 2}), expected) << i;
  }
  DecodeStream copy = stream.clone();
  copy.reset();
  EXPECT_EQ(decode(copy, {kLatents}), expected);
}

TEST(CudaStreams, GoOnFromACloneAndFromAState) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  std::vector<float> latents = random_latents();
  std::vector<uint8_t> video(expected.size());
  DecodeStream stream = model().open_decode(options());
  stream.push(latent_view(latents.data(), 0, 4, DeviceKind::kCpu),
              video_view(video.data(), 0, 13, DeviceKind::kCpu));
  DecodeStream clone = stream.clone();
  DecodeStream restored = model().open_decode(options());
  restored.restore(stream.state());
  for (DecodeStream* next : {&clone, &restored}) {
    std::fill(video.begin() + 13 * kFrame, video.end(), uint8_t{0});
    next->push(latent_view(latents.data(), 4, 5, DeviceKind::kCpu),
               video_view(video.data(), 13, 20, DeviceKind::kCpu));
    EXPECT_EQ(video, expected);
  }
}

// Each captures its launches while the other allocates and computes.
TEST(CudaStreams, RunInTwoThreadsAtOnce) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  const auto work = [&] {
    for (int i = 0; i < 3; ++i) {
      DecodeStream stream = model().open_decode(options());
      for (int j = 0; j < 3; ++j) {
        stream.reset();
        EXPECT_EQ(decode(stream, {1, 2, 2, 2, 2}), expected);
      }
    }
  };
  std::jthread other(work);
  work();
  other.join();
}

// Input made and output read by other work of the same stream, with no wait between.
TEST(CudaStreams, WorkInTheOrderOfTheCallersStream) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  const std::vector<float> latents = random_latents();
  const auto latent_bytes = std::as_bytes(std::span(latents));
  cudaStream_t own = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "test");
  for (cudaStream_t order : {own, static_cast<cudaStream_t>(nullptr)}) {
    StreamOptions ordered = options();
    ordered.cuda_stream = order;
    DecodeStream stream = model().open_decode(ordered);
    const DeviceBytes input(std::vector<std::byte>(latent_bytes.size()));
    const DeviceBytes output(std::vector<std::byte>(expected.size()));
    std::vector<uint8_t> video(expected.size());
    for (int i = 0; i < 3; ++i) {
      stream.reset();
      cuda::check(cudaMemcpyAsync(input.data(), latents.data(), latent_bytes.size(),
                                  cudaMemcpyHostToDevice, order),
                  "test");
      stream.push(latent_view(input.data(), 0, kLatents, DeviceKind::kCuda),
                  video_view(output.data(), 0, kFrames, DeviceKind::kCuda));
      cuda::check(
          cudaMemcpyAsync(video.data(), output.data(), video.size(), cudaMemcpyDeviceToHost, order),
          "test");
      cuda::check(cudaMemsetAsync(output.data(), 0, video.size(), order), "test");
      cuda::check(cudaStreamSynchronize(order), "test");
      EXPECT_EQ(video, expected) << i;
    }
  }
  cuda::check(cudaStreamDestroy(own), "test");
}

TEST(CudaStreams, AreUsableAfterTheyWereCancelled) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  int polls = 0;
  StreamOptions cancelled = options(1);
  cancelled.cancelled = [&] { return ++polls == 100; };
  DecodeStream stream = model().open_decode(cancelled);
  refusal(ErrorCode::kCancelled, [&] { (void)decode(stream, {kLatents}); });
  refusal(ErrorCode::kInvalidArgument, [&] { (void)decode(stream, {kLatents}); });
  stream.reset();
  EXPECT_EQ(decode(stream, {kLatents}), expected);
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
  const int64_t most = model().open_decode(large).frames_per_step();
  large.frames_per_step = 2;
  const MemoryNeeded two = model().memory_needed_decode(large);
  large.frames_per_step = 0;
  const Hoard hoard(static_cast<size_t>(two.total() - two.weights) + (size_t{160} << 20));
  const int64_t fewer = model().open_decode(large).frames_per_step();
  EXPECT_GE(fewer, 2);
  EXPECT_LT(fewer, most);
}

TEST(CudaMemory, IsRefusedBeforeAnyIsTaken) {
  ZOETROPE_NEEDS_GPU();
  (void)model();
  const Hoard hoard(size_t{256} << 20);
  const int64_t before = model().memory_use().allocated;
  const StreamOptions large = {.height = 1024, .width = 1024};
  EXPECT_THAT(refusal(ErrorCode::kOutOfMemory, [&] { (void)model().open_decode(large); }),
              HasSubstr("MiB beside the weights"));
  EXPECT_EQ(model().memory_use().allocated, before);
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

TEST(CudaTensors, AreCopiedToTheHostAndBack) {
  ZOETROPE_NEEDS_GPU();
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const TensorView host = {.data = values.data(), .dtype = DType::kFloat32, .shape = {2, 3}};
  const NamedTensor device = model().make_tensor(DType::kFloat32, {2, 3});
  EXPECT_EQ(device.tensor.device.kind, DeviceKind::kCuda);
  model().copy_tensor(host, device.tensor);
  values.assign(6, 0);
  model().copy_tensor(device.tensor, host);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  refusal(ErrorCode::kInvalidArgument, [&] { model().copy_tensor(device.tensor, device.tensor); });
  TensorView other = host;
  other.shape = {3, 2};
  refusal(ErrorCode::kInvalidArgument, [&] { model().copy_tensor(other, device.tensor); });
}

}  // namespace
}  // namespace zoetrope::testing
