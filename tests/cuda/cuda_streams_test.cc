// SPDX-License-Identifier: Apache-2.0
// Streams on a GPU: order, cuts, captured launches and whose memory they read and write.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/base/refusal.h"
#include "tests/cuda/device_buffers.h"
#include "tests/cuda/stream_runs.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

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

// A captured run tells of its progress once, others after each of their steps.
TEST(CudaStreams, CaptureALaunchTheSecondTime) {
  ZOETROPE_NEEDS_GPU();
  int64_t calls = 0;
  StreamOptions counted = options();
  counted.progress = [&](int64_t, int64_t) { ++calls; };
  DecodeStream stream = model().open_decode(counted);
  const std::vector<int64_t> cuts = {1, 2, 2, 2, 2};
  const std::vector<uint8_t> expected = decode(stream, cuts);
  EXPECT_GT(calls, 50);  // two kinds of run, step by step
  for (int i = 0; i < 2; ++i) {
    calls = 0;
    stream.reset();
    EXPECT_EQ(decode(stream, cuts), expected);
    EXPECT_EQ(calls, std::ssize(cuts));
  }
}

// A wait for the whole device ends captures under way: those runs are launched step by step.
TEST(CudaStreams, LaunchWhatCannotBeCaptured) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> expected = decode_whole();
  const std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      (void)cudaDeviceSynchronize();
      (void)cudaGetLastError();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int i = 0; i < 4; ++i) {
    DecodeStream stream = model().open_decode(options());
    for (int j = 0; j < 3; ++j) {
      stream.reset();
      EXPECT_EQ(decode(stream, {1, 2, 2, 2, 2}), expected) << i << " " << j;
    }
  }
}

// Frames of 768 KiB go to the host a few at a time, to the device all at once.
TEST(CudaStreams, CountWhatIsNotFinite) {
  ZOETROPE_NEEDS_GPU();
  constexpr int64_t kSide = 256;
  constexpr int64_t kFrameValues = kSide * kSide * 3;
  std::vector<float> latents(16 * 3 * 32 * 32, 0.5F);
  std::fill(latents.begin() + 2 * 16 * 32 * 32, latents.end(), NAN);  // the third latent frame
  std::vector<float> video(9 * kFrameValues);
  const DeviceBytes on_device(std::vector<std::byte>(video.size() * sizeof(float)));
  DecodeStream stream = model().open_decode(
      {.height = kSide,
       .width = kSide,
       .video = {.layout = Layout::kTHWC, .range = Range::kSigned, .dtype = DType::kFloat32},
       .frames_per_step = 2});
  const TensorView input = {.data = latents.data(),
                            .dtype = DType::kFloat32,
                            .shape = {16, 3, 32, 32},
                            .strides = {32 * 32, 16 * 32 * 32, 32, 1}};
  TensorView output = {
      .data = video.data(), .dtype = DType::kFloat32, .shape = {9, kSide, kSide, 3}};
  const auto expect_four_frames = [&] {
    stream.push(input, output);
    EXPECT_EQ(stream.not_finite().values, 4 * kFrameValues);
    EXPECT_EQ(stream.not_finite().first_frame, 5);
    stream.reset();
    EXPECT_EQ(stream.not_finite().values, 0);
  };
  expect_four_frames();
  output.data = on_device.data();
  output.device = {.kind = DeviceKind::kCuda};
  expect_four_frames();
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

TEST(CudaStreams, GiveTheSameBitsForAnyNumberOfFramesPerStep) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(33);
  const std::vector<float> expected = encode(model(), video, 1);
  for (const int64_t n : {0, 2, 3, 8}) {
    EXPECT_TRUE(same_bits(encode(model(), video, n), expected)) << n;
  }
}

TEST(CudaStreams, GiveTheSameBitsTwoAtOnce) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(17);
  const std::vector<float> expected = encode(model(), video, 2);
  std::vector<float> first, second;
  std::jthread other([&] { first = encode(model(), video, 2); });
  second = encode(model(), video, 2);
  other.join();
  EXPECT_TRUE(same_bits(first, expected) && same_bits(second, expected));
}

TEST(CudaStreams, ReadAndWriteMemoryOfTheDevice) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(9);
  const std::vector<float> expected = encode(model(), video, 0);
  const DeviceBytes device_video(std::as_bytes(std::span(video)));
  const DeviceOutput latent(DType::kFloat32, std::ssize(expected));
  model().encode(video_view(device_video.data(), 0, 9, DeviceKind::kCuda),
                 {.latent = latent_view(latent.data(), 0, 3, DeviceKind::kCuda)});
  EXPECT_TRUE(same_bits(latent.values(), expected));
  std::vector<float> host = expected;
  std::vector<uint8_t> decoded(static_cast<size_t>(9 * kHeight * kWidth * 3));
  model().decode(latent_view(host.data(), 0, 3), video_view(decoded.data(), 0, 9));
  const DeviceOutput device_decoded(DType::kUInt8, std::ssize(decoded));
  model().decode(latent_view(latent.data(), 0, 3, DeviceKind::kCuda),
                 video_view(device_decoded.data(), 0, 9, DeviceKind::kCuda));
  const std::vector<float> found = device_decoded.values();
  EXPECT_TRUE(std::ranges::equal(found, decoded));
}

TEST(CudaStreams, RefuseMemoryOfAnotherDevice) {
  ZOETROPE_NEEDS_GPU();
  std::vector<uint8_t> video = random_video(1);
  std::vector<float> latent(static_cast<size_t>(16 * kHeight * kWidth / 64));
  TensorView elsewhere = video_view(video.data(), 0, 1, DeviceKind::kCuda);
  elsewhere.device.index = 7;
  EXPECT_THAT(
      refusal(ErrorCode::kInvalidArgument,
              [&] { model().encode(elsewhere, {.latent = latent_view(latent.data(), 0, 1)}); }),
      HasSubstr("cuda:7"));
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
