// SPDX-License-Identifier: Apache-2.0
#include "cuda/captured_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/fail.h"
#include "cuda/cuda_stream.h"
#include "tests/cuda/device_buffers.h"
#include "zoetrope/error.h"

namespace zoetrope::cuda {
namespace {

constexpr size_t kBytes = 64;

std::vector<std::byte> filled(int value) {
  return std::vector<std::byte>(kBytes, static_cast<std::byte>(value));
}

void fill(const DeviceBytes& bytes, int value, cudaStream_t stream) {
  check(cudaMemsetAsync(bytes.data(), value, kBytes, stream), "test");
}

TEST(CapturedPlan, RunsWhatItKeptEachTimeItIsStarted) {
  ZOETROPE_NEEDS_GPU();
  const DeviceBytes bytes(filled(1));
  const Plan plan;
  CapturedPlan captured(plan, {});
  ASSERT_TRUE(captured.capture([&](cudaStream_t into) { fill(bytes, 2, into); }));
  EXPECT_EQ(bytes.read(), filled(1));
  const OwnStream stream;
  for (int i = 0; i < 2; ++i) {
    fill(bytes, 3, stream.get());
    captured.start(stream.get());
    check(cudaStreamSynchronize(stream.get()), "test");
    EXPECT_EQ(bytes.read(), filled(2));
  }
}

// A wait for the stream that is captured ends the capture, as one for the whole device does.
TEST(CapturedPlan, KeepsNothingOfACaptureThatIsRefused) {
  ZOETROPE_NEEDS_GPU();
  const DeviceBytes bytes(filled(1));
  const Plan plan;
  CapturedPlan captured(plan, {});
  const auto wait = [&](cudaStream_t into) {
    fill(bytes, 2, into);
    EXPECT_NE(cudaStreamSynchronize(into), cudaSuccess);
  };
  EXPECT_FALSE(captured.capture(wait));
  EXPECT_FALSE(captured.is_captured());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // which the next launch would take for its own
  EXPECT_TRUE(captured.capture([&](cudaStream_t into) { fill(bytes, 2, into); }));
}

TEST(CapturedPlan, KeepsNothingWhereAStepDoesNotStart) {
  ZOETROPE_NEEDS_GPU();
  const DeviceBytes bytes(filled(1));
  const Plan plan;
  CapturedPlan captured(plan, {});
  const auto stop = [&](cudaStream_t into) {
    fill(bytes, 2, into);
    fail(ErrorCode::kInternal, "no such kernel");
  };
  EXPECT_FALSE(captured.capture(stop));
  EXPECT_FALSE(captured.is_captured());
  EXPECT_EQ(bytes.read(), filled(1));
}

TEST(CapturedPlan, IsOfOneLaunch) {
  const Plan plan;
  const Plan other;
  const CapturedPlan captured(plan, {.n = 2});
  EXPECT_TRUE(captured.is_of(plan, {.n = 2}));
  EXPECT_FALSE(captured.is_of(plan, {.n = 1}));
  EXPECT_FALSE(captured.is_of(other, {.n = 2}));
}

}  // namespace
}  // namespace zoetrope::cuda
