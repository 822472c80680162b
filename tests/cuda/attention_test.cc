// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/attention.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "cuda/kernels/attention_sm90.h"
#include "tests/cuda/device_buffers.h"
#include "tests/reference/attention.h"

namespace zoetrope {
namespace {

struct Sizes {
  int64_t frames;
  int64_t positions;
  int64_t channels;
};

// Queries are scaled up, so that some weights are large and some vanish.
std::vector<float> random_qkv(DType dtype, const Sizes& sizes, uint64_t seed) {
  std::vector<float> qkv = random_floats(sizes.frames * sizes.positions * 3 * sizes.channels, seed);
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (static_cast<int64_t>(i) / sizes.channels % 3 == 0) qkv[i] *= 8;
  }
  return rounded_to(dtype, std::move(qkv));
}

// Warpgroups 0: the portable kernel.
std::vector<float> run(DType dtype, const std::vector<float>& qkv, const Sizes& sizes,
                       int warpgroups = 0) {
  const DeviceBytes device_qkv(dtype, qkv);
  const DeviceOutput y(dtype, sizes.frames * sizes.positions * sizes.channels);
  const int64_t floats =
      cuda::attention_workspace_per_position(dtype, sizes.channels) * sizes.positions;
  const DeviceOutput workspace(DType::kUInt8,
                               floats * 4 + cuda::attention_workspace_fixed(dtype, sizes.channels));
  const cuda::AttentionArgs args = {.operands = dtype,
                                    .qkv = device_qkv.data(),
                                    .frames = sizes.frames,
                                    .positions = sizes.positions,
                                    .channels = sizes.channels,
                                    .workspace = workspace.data(),
                                    .y = y.data()};
  cuda::check(warpgroups == 0 ? cuda::attention(args, nullptr)
                              : cuda::attention_sm90(args, warpgroups, nullptr),
              "attention");
  cuda::check(cudaDeviceSynchronize(), "attention");
  return y.values();
}

// Values are at most 1, scores up to about 8 sqrt(channels). Weights are rounded to the operands'
// type.
void expect_close(DType dtype, const Sizes& sizes, uint64_t seed, int warpgroups = 0) {
  SCOPED_TRACE(fmt::format("{} x {}", sizes.positions, sizes.channels));
  const double unit = dtype == DType::kFloat32   ? 0x1p-17
                      : dtype == DType::kFloat16 ? 0x1p-10
                                                 : 0x1p-7;
  const std::vector<float> qkv = random_qkv(dtype, sizes, seed);
  const std::vector<float> y = run(dtype, qkv, sizes, warpgroups);
  const int64_t rows = sizes.frames * sizes.positions;
  for (int64_t row = 0; row < rows; row += 1 + rows / 100) {
    const float* frame = qkv.data() + row / sizes.positions * sizes.positions * 3 * sizes.channels;
    const std::vector<double> expected =
        reference::attention(frame, sizes.positions, sizes.channels, row % sizes.positions);
    for (int64_t c = 0; c < sizes.channels; ++c) {
      ASSERT_NEAR(y[static_cast<size_t>(row * sizes.channels + c)],
                  expected[static_cast<size_t>(c)], unit)
          << "row " << row << " channel " << c;
    }
  }
}

class CudaAttention : public testing::TestWithParam<DType> {};

TEST_P(CudaAttention, MatchesTheDefinition) {
  ZOETROPE_NEEDS_GPU();
  uint64_t seed = 1;
  for (const Sizes& sizes : {Sizes{1, 1, 1},
                             {1, 1, 384},
                             {2, 35, 128},
                             {1, 35, 17},
                             {3, 2, 3},
                             {1, 193, 32},
                             {1, 400, 50},
                             {1, 97, 384},
                             {1, 1030, 96}}) {
    expect_close(GetParam(), sizes, ++seed);
  }
}

TEST_P(CudaAttention, GivesTheSameBitsForAnyNumberOfFrames) {
  ZOETROPE_NEEDS_GPU();
  const Sizes sizes = {3, 301, 50};
  const std::vector<float> qkv = random_qkv(GetParam(), sizes, 20);
  const std::vector<float> whole = run(GetParam(), qkv, sizes);
  const auto frame = static_cast<std::ptrdiff_t>(sizes.positions * 3 * sizes.channels);
  const std::vector<float> alone =
      run(GetParam(), std::vector<float>(qkv.end() - frame, qkv.end()), {1, 301, 50});
  EXPECT_TRUE(same_bits(alone, std::span(whole).last(alone.size())));
}

// More scores than the workspace holds at once.
TEST_P(CudaAttention, DividesQueriesAmongBlocks) {
  ZOETROPE_NEEDS_GPU();
  const Sizes sizes = {1, 4500, 8};
  const std::vector<float> qkv = random_qkv(GetParam(), sizes, 21);
  const std::vector<float> y = run(GetParam(), qkv, sizes);
  const double unit = GetParam() == DType::kFloat32 ? 0x1p-17 : 0x1p-7;
  for (const int64_t row : {0, 3727, 3728, 4499}) {
    const std::vector<double> expected =
        reference::attention(qkv.data(), sizes.positions, sizes.channels, row);
    for (int64_t c = 0; c < sizes.channels; ++c) {
      ASSERT_NEAR(y[static_cast<size_t>(row * sizes.channels + c)],
                  expected[static_cast<size_t>(c)], unit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaAttention,
                         testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

class CudaAttentionSm90 : public testing::TestWithParam<DType> {
 public:
  void SetUp() override {
    if (gpu_capability() != 90) GTEST_SKIP() << "no GPU of compute capability 9.0";
  }
};

TEST_P(CudaAttentionSm90, MatchesTheDefinition) {
  uint64_t seed = 40;
  for (const int warpgroups : {1, 2}) {
    for (const Sizes& sizes : {Sizes{1, 1, 384},
                               {2, 33, 384},
                               {3, 64, 384},
                               {1, 193, 384},
                               {2, 1030, 384},
                               {1, 4096, 384}}) {
      expect_close(GetParam(), sizes, ++seed, warpgroups);
    }
  }
}

// The largest score of a row comes late, so that sums are scaled down on the way; and scores far
// apart.
TEST_P(CudaAttentionSm90, FollowsRisingScores) {
  const Sizes sizes = {1, 300, 384};
  std::vector<float> qkv = random_qkv(GetParam(), sizes, 60);
  for (int64_t key = 0; key < sizes.positions; ++key) {
    for (int64_t c = 0; c < 384; ++c) {
      qkv[static_cast<size_t>(key * 3 * 384 + 384 + c)] *= 0.03F * static_cast<float>(key);
    }
  }
  qkv = rounded_to(GetParam(), std::move(qkv));
  const std::vector<float> y = run(GetParam(), qkv, sizes, 2);
  const double unit = GetParam() == DType::kFloat16 ? 0x1p-10 : 0x1p-7;
  for (const int64_t row : {0, 7, 63, 64, 128, 299}) {
    const std::vector<double> expected = reference::attention(qkv.data(), 300, 384, row);
    for (int64_t c = 0; c < 384; ++c) {
      ASSERT_NEAR(y[static_cast<size_t>(row * 384 + c)], expected[static_cast<size_t>(c)], unit)
          << row << " " << c;
    }
  }
}

TEST_P(CudaAttentionSm90, GivesTheSameBitsForAnyNumberOfFramesAndWarpgroups) {
  const Sizes sizes = {3, 301, 384};
  const std::vector<float> qkv = random_qkv(GetParam(), sizes, 61);
  const std::vector<float> whole = run(GetParam(), qkv, sizes, 2);
  EXPECT_TRUE(same_bits(run(GetParam(), qkv, sizes, 1), whole));
  const auto frame = static_cast<std::ptrdiff_t>(sizes.positions * 3 * sizes.channels);
  const std::vector<float> alone =
      run(GetParam(), std::vector<float>(qkv.end() - frame, qkv.end()), {1, 301, 384}, 1);
  EXPECT_TRUE(same_bits(alone, std::span(whole).last(alone.size())));
}

INSTANTIATE_TEST_SUITE_P(Types, CudaAttentionSm90,
                         testing::Values(DType::kFloat16, DType::kBFloat16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(AttentionSm90, RefusesInWords) {
  EXPECT_EQ(cuda::attention_sm90_refusal(DType::kFloat16, 384), "");
  EXPECT_THAT(cuda::attention_sm90_refusal(DType::kFloat16, 96), testing::HasSubstr("96 channels"));
  EXPECT_THAT(cuda::attention_sm90_refusal(DType::kFloat32, 384), testing::HasSubstr("16 bits"));
}

TEST(AttentionSm90, SharesKeysWhereThereAreQueriesEnough) {
  EXPECT_EQ(cuda::attention_sm90_warpgroups(1, 4096), 1);
  EXPECT_EQ(cuda::attention_sm90_warpgroups(2, 4096), 1);
  EXPECT_EQ(cuda::attention_sm90_warpgroups(21, 4096), 2);
  EXPECT_EQ(cuda::attention_sm90_warpgroups(1, 16384), 2);
}

}  // namespace
}  // namespace zoetrope
