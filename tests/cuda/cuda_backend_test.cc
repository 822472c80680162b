// SPDX-License-Identifier: Apache-2.0
// The library on a GPU. What tests/runtime says of the device "auto" holds there too.
#include "cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
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
