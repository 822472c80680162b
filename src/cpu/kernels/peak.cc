// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/kernels/multiply_bf16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/peak.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough sums to hide a multiply-add's latency, few enough for 16 registers. Returns the flops.
double multiply_add_in_registers(int64_t rounds) {
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
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {
namespace {

HWY_EXPORT(multiply_add_in_registers);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The median of a few measurements of a loop that returns its flops.
double peak_of(double (*loop)(int64_t rounds), ThreadPool& pool, double seconds) {
  constexpr int64_t kRounds = 10'000;  // about 20 microseconds
  constexpr int kMeasurements = 5;
  std::vector<double> rates;
  for (int i = 0; i < kMeasurements; ++i) {
    std::atomic<double> flops = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto until_time_is_up = [&](int64_t) {
      do {
        flops += loop(kRounds);
      } while (seconds_since(start) < seconds / kMeasurements);
    };
    pool.run(pool.threads(), until_time_is_up);
    rates.push_back(flops / seconds_since(start));
  }
  return median_of(rates);
}

}  // namespace

double measure_peak_flops(DType operands, ThreadPool& pool, double seconds) {
  const auto float32 = [](int64_t rounds) {
    return HWY_DYNAMIC_DISPATCH(multiply_add_in_registers)(rounds);
  };
  if (operands == DType::kFloat32 || !multiplies_bf16()) return peak_of(float32, pool, seconds);
  return std::max(peak_of(multiply_bf16_in_registers, pool, seconds / 2),
                  peak_of(float32, pool, seconds / 2));
}

double measure_copy_bandwidth(ThreadPool& pool) {
  constexpr int64_t kBytes = int64_t{128} << 20;  // of each of two arrays
  constexpr int64_t kItemBytes = int64_t{1} << 20;
  constexpr int kMeasurements = 5;
  const auto from = std::make_unique<std::byte[]>(kBytes);
  const auto to = std::make_unique<std::byte[]>(kBytes);
  std::vector<double> rates;
  for (int i = 0; i < kMeasurements; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(kBytes / kItemBytes, [&](int64_t item) {
      std::memcpy(to.get() + item * kItemBytes, from.get() + item * kItemBytes, kItemBytes);
    });
    rates.push_back(2.0 * kBytes / seconds_since(start));
  }
  return median_of(rates);
}

}  // namespace zoetrope::cpu
#endif
