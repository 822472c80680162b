// SPDX-License-Identifier: Apache-2.0
// The library on a GPU. What tests/runtime says of the device "auto" holds there too.
#include "cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/refusal.h"
#include "tests/cuda/device_buffers.h"
#include "tests/support/golden.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

struct GoldenCase {
  const char* file;
  const char* weights;
};

constexpr VideoFormat kFloatVideo = {
    .layout = Layout::kCTHW, .range = Range::kSigned, .dtype = DType::kFloat32};

std::map<std::string, Array> run(const GoldenCase& test, DType dtype) {
  const GoldenFile golden(test.file);
  const auto model = Autoencoder::load(
      test.weights, {.device = "cuda", .encode_dtype = dtype, .decode_dtype = dtype});
  std::map<std::string, Array> found;
  for (const char* name : {"mean", "logvar", "latent", "decoded"}) {
    found[name] = Array::zeros(golden.load(name).shape);
  }
  Array video = golden.load("video");
  model.encode(video.view(),
               {.latent = found["latent"].view(),
                .mean = found["mean"].view(),
                .logvar = found["logvar"].view()},
               {.video = kFloatVideo});
  Array latent = golden.load("z");
  model.decode(latent.view(), found["decoded"].view(), {.video = kFloatVideo, .clamp = false});
  return found;
}

class CudaGolden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(CudaGolden, HoldsInFloat32) {
  ZOETROPE_NEEDS_GPU();
  for (const auto& [name, found] : run(GetParam(), DType::kFloat32)) {
    const Array expected = GoldenFile(GetParam().file).load(name);
    const double error = relative_error(found.values, expected.values);
    RecordProperty(name, std::to_string(error));
    EXPECT_LT(error, kFloat32Tolerance) << name;
  }
}

// Twice the error of naive bfloat16 at most; once where operands are float16 as far as their range
// is known, and the values between blocks bfloat16.
TEST_P(CudaGolden, HoldsInSixteenBits) {
  ZOETROPE_NEEDS_GPU();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const double times = dtype == DType::kFloat16 ? 1 : 2;
    for (const auto& [name, found] : run(GetParam(), dtype)) {
      const Array expected = GoldenFile(GetParam().file).load(name);
      EXPECT_LT(rms_error(found.values, expected.values), times * naive_rms(GetParam().file, name))
          << name_of(dtype) << " " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CudaGolden,
                         ::testing::Values(GoldenCase{"wan21_d96_t1_40x56", "random"},
                                           GoldenCase{"wan21_d96_t5_16x16_stages", "random:96:0"},
                                           GoldenCase{"wan21_d96_t9_32x48", "random:96"},
                                           GoldenCase{"wan21_d32_t13_72x40", "random:32:1"},
                                           GoldenCase{"tiny/case_t9_32x48", "random:8:2"}),
                         [](const auto& test) { return "Case" + std::to_string(test.index); });

// Every pass left out by itself: the kernels of the ops that it would have removed.
TEST(CudaPasses, GiveTheSameLatentsWithoutAnyOfThem) {
  ZOETROPE_NEEDS_GPU();
  const GoldenFile golden("tiny/case_t9_32x48");
  const Array expected = golden.load("latent");
  for (const char* off : {"fold-linear", "fold-upsample", "fuse-interleave", "fuse-residual",
                          "fuse-shortcut", "fuse-silu", "fuse-norm"}) {
    const auto model = Autoencoder::load("random:8:2", {.device = "cuda",
                                                        .encode_dtype = DType::kFloat32,
                                                        .decode_dtype = DType::kFloat32,
                                                        .disabled_passes = {off}});
    Array video = golden.load("video");
    Array latent = Array::zeros(expected.shape);
    model.encode(video.view(), {.latent = latent.view()}, {.video = kFloatVideo});
    EXPECT_LT(relative_error(latent.values, expected.values), kFloat32Tolerance) << off;
    Array z = golden.load("z");
    Array decoded = Array::zeros(golden.load("decoded").shape);
    model.decode(z.view(), decoded.view(), {.video = kFloatVideo, .clamp = false});
    EXPECT_LT(relative_error(decoded.values, golden.load("decoded").values), kFloat32Tolerance)
        << off;
  }
}

constexpr int64_t kHeight = 40;
constexpr int64_t kWidth = 56;

std::vector<uint8_t> random_video(int64_t frames) {
  std::vector<uint8_t> video(static_cast<size_t>(frames * kHeight * kWidth * 3));
  uint32_t state = 1;
  for (uint8_t& value : video) value = static_cast<uint8_t>((state = state * 1664525U + 1) >> 24);
  return video;
}

TensorView bytes_view(void* data, int64_t frames, DeviceKind kind = DeviceKind::kCpu) {
  return {.data = data,
          .dtype = DType::kUInt8,
          .device = {.kind = kind},
          .shape = {frames, kHeight, kWidth, 3}};
}

TensorView latent_view(void* data, int64_t frames, DeviceKind kind = DeviceKind::kCpu) {
  return {.data = data,
          .dtype = DType::kFloat32,
          .device = {.kind = kind},
          .shape = {16, frames, kHeight / 8, kWidth / 8}};
}

const Autoencoder& model() {
  static const Autoencoder loaded = Autoencoder::load("random:32:4", {.device = "cuda"});
  return loaded;
}

std::vector<float> encode(const std::vector<uint8_t>& video, int64_t frames_per_step) {
  const int64_t frames = std::ssize(video) / (kHeight * kWidth * 3);
  const int64_t latents = 1 + (frames - 1) / 4;
  std::vector<float> latent(static_cast<size_t>(16 * latents * kHeight * kWidth / 64));
  std::vector<uint8_t> copy = video;
  model().encode(bytes_view(copy.data(), frames), {.latent = latent_view(latent.data(), latents)},
                 {.frames_per_step = frames_per_step});
  return latent;
}

TEST(CudaStreams, GiveTheSameBitsForAnyNumberOfFramesPerStep) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(33);
  const std::vector<float> expected = encode(video, 1);
  for (const int64_t n : {0, 2, 3, 8}) EXPECT_TRUE(same_bits(encode(video, n), expected)) << n;
}

TEST(CudaStreams, GiveTheSameBitsTwoAtOnce) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(17);
  const std::vector<float> expected = encode(video, 2);
  std::vector<float> first, second;
  std::jthread other([&] { first = encode(video, 2); });
  second = encode(video, 2);
  other.join();
  EXPECT_TRUE(same_bits(first, expected) && same_bits(second, expected));
}

TEST(CudaStreams, ReadAndWriteMemoryOfTheDevice) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(9);
  const std::vector<float> expected = encode(video, 0);
  const DeviceBytes device_video(std::as_bytes(std::span(video)));
  const DeviceOutput latent(DType::kFloat32, std::ssize(expected));
  model().encode(bytes_view(device_video.data(), 9, DeviceKind::kCuda),
                 {.latent = latent_view(latent.data(), 3, DeviceKind::kCuda)});
  EXPECT_TRUE(same_bits(latent.values(), expected));
  std::vector<float> host = expected;
  std::vector<uint8_t> decoded(static_cast<size_t>(9 * kHeight * kWidth * 3));
  model().decode(latent_view(host.data(), 3), bytes_view(decoded.data(), 9));
  const DeviceOutput device_decoded(DType::kUInt8, std::ssize(decoded));
  model().decode(latent_view(latent.data(), 3, DeviceKind::kCuda),
                 bytes_view(device_decoded.data(), 9, DeviceKind::kCuda));
  const std::vector<float> found = device_decoded.values();
  EXPECT_TRUE(std::ranges::equal(found, decoded));
}

TEST(CudaStreams, RefuseMemoryOfAnotherDevice) {
  ZOETROPE_NEEDS_GPU();
  std::vector<uint8_t> video = random_video(1);
  std::vector<float> latent(static_cast<size_t>(16 * kHeight * kWidth / 64));
  TensorView elsewhere = bytes_view(video.data(), 1, DeviceKind::kCuda);
  elsewhere.device.index = 7;
  EXPECT_THAT(
      refusal(ErrorCode::kInvalidArgument,
              [&] { model().encode(elsewhere, {.latent = latent_view(latent.data(), 1)}); }),
      HasSubstr("cuda:7"));
}

TEST(CudaMemory, IsUsableAfterItRanOut) {
  ZOETROPE_NEEDS_GPU();
  const std::vector<uint8_t> video = random_video(5);
  const std::vector<float> expected = encode(video, 0);
  size_t free = 0;
  size_t total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "test");
  void* most = nullptr;
  cuda::check(cudaMalloc(&most, free - (size_t{256} << 20)), "test");
  EXPECT_THAT(
      refusal(ErrorCode::kOutOfMemory,
              [&] {
                (void)model().open_decode({.height = 1024, .width = 1024, .frames_per_step = 1});
              }),
      HasSubstr("MiB are free"));
  EXPECT_TRUE(same_bits(encode(video, 1), expected));
  cuda::check(cudaFree(most), "test");
  EXPECT_TRUE(same_bits(encode(video, 0), expected));
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

TEST(CudaDevices, AreListedFirst) {
  ZOETROPE_NEEDS_GPU();
  EXPECT_EQ(devices().front().id, "cuda:0");
  EXPECT_EQ(devices().back().id, "cpu");
  EXPECT_GT(measure_peak_flops({.device = "cuda"}, DType::kBFloat16), 1e12);
  EXPECT_GT(measure_copy_bandwidth({.device = "cuda"}), 1e10);
}

TEST(CudaDevices, AreRefusedInWords) {
  if (cuda::why_none().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(
      refusal(ErrorCode::kDevice, [] { (void)Autoencoder::load("random:8", {.device = "cuda"}); }),
      HasSubstr("use the device cpu"));
}

}  // namespace
}  // namespace zoetrope::testing
