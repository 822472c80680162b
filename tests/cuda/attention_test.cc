// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/dtype.h"
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

std::vector<float> run(DType dtype, const std::vector<float>& qkv, const Sizes& sizes) {
  const DeviceBytes device_qkv(dtype, qkv);
  const DeviceOutput y(dtype, sizes.frames * sizes.positions * sizes.channels);
  const int64_t floats =
      cuda::attention_workspace_per_position(dtype, sizes.channels) * sizes.positions;
  const DeviceOutput workspace(DType::kUInt8,
                               floats * 4 + cuda::attention_workspace_fixed(dtype, sizes.channels));
  cuda::check(cuda::attention({.operands = dtype,
                               .qkv = device_qkv.data(),
                               .frames = sizes.frames,
                               .positions = sizes.positions,
                               .channels = sizes.channels,
                               .workspace = workspace.data(),
                               .y = y.data()},
                              nullptr),
              "attention");
  cuda::check(cudaDeviceSynchronize(), "attention");
  return y.values();
}

class CudaAttention : public testing::TestWithParam<DType> {};

// Values are at most 1, scores up to about 8 sqrt(channels). Weights are rounded to the operands'
// type.
TEST_P(CudaAttention, MatchesTheDefinition) {
  ZOETROPE_NEEDS_GPU();
  const double unit = GetParam() == DType::kFloat32   ? 0x1p-17
                      : GetParam() == DType::kFloat16 ? 0x1p-10
                                                      : 0x1p-7;
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
    SCOPED_TRACE(fmt::format("{} x {}", sizes.positions, sizes.channels));
    const std::vector<float> qkv = random_qkv(GetParam(), sizes, ++seed);
    const std::vector<float> y = run(GetParam(), qkv, sizes);
    const int64_t rows = sizes.frames * sizes.positions;
    for (int64_t row = 0; row < rows; row += 1 + rows / 100) {
      const float* frame =
          qkv.data() + row / sizes.positions * sizes.positions * 3 * sizes.channels;
      const std::vector<double> expected =
          reference::attention(frame, sizes.positions, sizes.channels, row % sizes.positions);
      for (int64_t c = 0; c < sizes.channels; ++c) {
        ASSERT_NEAR(y[static_cast<size_t>(row * sizes.channels + c)],
                    expected[static_cast<size_t>(c)], unit)
            << "row " << row << " channel " << c;
      }
    }
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

}  // namespace
}  // namespace zoetrope
