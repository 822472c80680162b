// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/attention.h"
#include "zoetrope/error.h"

namespace zoetrope {
namespace {

struct Sizes {
  int64_t frames;
  int64_t positions;
  int64_t channels;
};

// Queries are scaled up, so that some weights are large and some vanish.
std::vector<float> random_qkv(const cpu::AttentionKernel& kernel, const Sizes& sizes,
                              uint64_t seed) {
  std::vector<float> qkv = random_floats(sizes.frames * sizes.positions * 3 * sizes.channels, seed);
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (static_cast<int64_t>(i) / sizes.channels % 3 == 0) qkv[i] *= 8;
  }
  return rounded_to(kernel.operands, std::move(qkv));
}

std::vector<float> run(const cpu::AttentionKernel& kernel, const std::vector<float>& qkv,
                       const Sizes& sizes, int threads = 2, const LoopControl& control = {}) {
  const TypedArray typed_qkv(kernel.operands, qkv);
  GuardedArray y(kernel.operands, sizes.frames * sizes.positions * sizes.channels);
  GuardedArray workspace(DType::kFloat32,
                         kernel.workspace_fixed(sizes.channels) +
                             kernel.workspace_per_position(sizes.channels) * sizes.positions);
  ThreadPool pool(threads);
  kernel.run({.qkv = typed_qkv.data(),
              .frames = sizes.frames,
              .positions = sizes.positions,
              .channels = sizes.channels,
              .workspace = workspace.floats(),
              .y = y.data()},
             pool, control);
  EXPECT_TRUE(y.guards_hold());
  EXPECT_TRUE(workspace.guards_hold());
  return y.values();
}

// How far y of one query may be off, by three errors, u = 2^-24 (the factors 6 sqrt(n): see the
// convs' test):
//   a score's, e = 6 sqrt(channels + 2) u sum |q||k| / sqrt(channels);
//   a weight's, relative: e twice (its own, the largest score's), and 6 u + range u of the
//   difference and exp, range being the scores' spread at most; in numerator and denominator;
//   the sums', 6 sqrt(positions + 4) u; numerator and denominator again.
// Values are at most 1.
double tolerance(const float* qkv, const Sizes& sizes, int64_t query) {
  const float* q = qkv + query * 3 * sizes.channels;
  double largest = 0;
  for (int64_t key = 0; key < sizes.positions; ++key) {
    const float* k = qkv + key * 3 * sizes.channels + sizes.channels;
    double magnitude = 0;
    for (int64_t c = 0; c < sizes.channels; ++c) magnitude += std::abs(double{q[c]} * double{k[c]});
    largest = std::max(largest, magnitude / std::sqrt(static_cast<double>(sizes.channels)));
  }
  const double score = 6 * std::sqrt(static_cast<double>(sizes.channels) + 2) * largest;
  const double weight = 2 * score + 6 + 2 * largest;
  const double sum = 6 * std::sqrt(static_cast<double>(sizes.positions) + 4);
  return 2 * (weight + sum) * 0x1p-24;
}

class Attention : public testing::TestWithParam<cpu::AttentionKernel> {};

TEST_P(Attention, MatchesTheDefinition) {
  const std::vector<Sizes> shapes = {{1, 1, 1},    {1, 1, 384},  {2, 35, 128}, {1, 35, 17},
                                     {3, 2, 3},    {1, 193, 32}, {1, 400, 50}, {1, 1024, 48},
                                     {1, 97, 384}, {1, 192, 96}, {2, 49, 47}};
  uint64_t seed = 1;
  for (const Sizes& sizes : shapes) {
    SCOPED_TRACE(std::to_string(sizes.positions) + " x " + std::to_string(sizes.channels));
    const std::vector<float> qkv = random_qkv(GetParam(), sizes, ++seed);
    const std::vector<float> y = run(GetParam(), qkv, sizes);
    for (int64_t row = 0; row < sizes.frames * sizes.positions; ++row) {
      const float* frame =
          qkv.data() + row / sizes.positions * sizes.positions * 3 * sizes.channels;
      const int64_t query = row % sizes.positions;
      const std::vector<double> expected =
          reference::attention(frame, sizes.positions, sizes.channels, query);
      const double bound = tolerance(frame, sizes, query);
      for (int64_t c = 0; c < sizes.channels; ++c) {
        const double value = expected[static_cast<size_t>(c)];
        ASSERT_NEAR(y[static_cast<size_t>(row * sizes.channels + c)], value,
                    rounded_error(GetParam().operands, value, bound))
            << "row " << row << " channel " << c;
      }
    }
  }
}

TEST_P(Attention, GivesTheSameBitsForAnyNumberOfThreadsAndFrames) {
  const Sizes sizes = {3, 301, 50};
  const std::vector<float> qkv = random_qkv(GetParam(), sizes, 20);
  const std::vector<float> whole = run(GetParam(), qkv, sizes, 1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(run(GetParam(), qkv, sizes, threads), whole)) << threads;
  }
  const auto frame = static_cast<std::ptrdiff_t>(sizes.positions * 3 * sizes.channels);
  const std::vector<float> last(qkv.end() - frame, qkv.end());
  const std::vector<float> alone = run(GetParam(), last, {1, 301, 50});
  EXPECT_TRUE(same_bits(alone, std::span(whole).last(alone.size())));
}

TEST_P(Attention, TakesScoresFarFromZero) {
  // Scores of about +-1e4: e^score alone would overflow.
  const Sizes sizes = {1, 300, 16};
  std::vector<float> qkv = random_qkv(GetParam(), sizes, 21);
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (static_cast<int64_t>(i) / sizes.channels % 3 == 0) qkv[i] *= 1e4F;
  }
  const std::vector<float> y = run(GetParam(), qkv, sizes);
  EXPECT_THAT(y, testing::Each(testing::AllOf(testing::Ge(-1.0F), testing::Le(1.0F))));
}

TEST_P(Attention, PropagatesNaN) {
  const Sizes sizes = {1, 250, 16};
  std::vector<float> qkv = random_qkv(GetParam(), sizes, 22);
  qkv[static_cast<size_t>(7 * 3 * 16)] = std::nanf("");  // of one query
  std::vector<float> y = run(GetParam(), qkv, sizes);
  EXPECT_TRUE(std::isnan(y[static_cast<size_t>(7 * 16)]));
  EXPECT_FALSE(std::isnan(y[static_cast<size_t>(8 * 16)]));
  qkv[static_cast<size_t>(200 * 3 * 16 + 16)] = std::nanf("");  // of one key: every query sees it
  y = run(GetParam(), qkv, sizes);
  EXPECT_TRUE(std::ranges::all_of(y, [](float value) { return std::isnan(value); }));
}

TEST_P(Attention, StopsWhenCancelled) {
  const Sizes sizes = {1, 35, 16};
  try {
    run(GetParam(), random_qkv(GetParam(), sizes, 23), sizes, 2,
        {.cancelled = [] { return true; }});
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Attention,
                         testing::ValuesIn(cpu::attention_kernels().begin(),
                                           cpu::attention_kernels().end()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace zoetrope
