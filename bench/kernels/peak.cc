// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/peak.h"

#include <atomic>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/kernels/peak.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough sums to hide a multiply-add's latency, few enough for 16 registers. Returns the flops.
double multiply_add(int64_t rounds) {
  constexpr int kSums = 12;
  const hn::ScalableTag<float> d;
  const auto half = hn::Set(d, 0.5F);
  const auto one = hn::Set(d, 1.0F);
  hn::Vec<decltype(d)> sums[kSums];
  HWY_UNROLL(12)
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(sums[i], half, one);
  }
  auto total = hn::Zero(d);
  HWY_UNROLL(12)
  for (int i = 0; i < kSums; ++i) total = hn::Add(total, sums[i]);
  static std::atomic<float> sink;
  sink = hn::GetLane(total);
  return 2.0 * kSums * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::bench {

HWY_EXPORT(multiply_add);

double measure_peak_gflops(ThreadPool& pool) {
  constexpr int64_t kRounds = 20'000;  // about 40 microseconds
  const int64_t items = 100 * pool.threads();
  std::atomic<double> flops = 0;
  const auto start = std::chrono::steady_clock::now();
  pool.run(items, [&](int64_t) { flops = HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return flops * static_cast<double>(items) / seconds.count() / 1e9;
}

}  // namespace zoetrope::bench
#endif
