// SPDX-License-Identifier: Apache-2.0
// Times each kernel alone. Prints the machine's peaks, then one line a case;
// --benchmark_format=json and Google Benchmark's other flags work.
#include "bench/kernels/kernels_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "base/dtype.h"
#include "bench/kernels/onednn.h"
#include "cpu/kernels/peak.h"

namespace zoetrope::bench {

AlignedBytes::AlignedBytes(int64_t size)
    : size_(size),
      data_(static_cast<std::byte*>(
          ::operator new[](static_cast<size_t>(size), std::align_val_t{64}))) {}

void AlignedBytes::Free::operator()(std::byte* data) const {
  ::operator delete[](data, std::align_val_t{64});
}

std::vector<float> random_values(DType dtype, int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) {
    const float exact = uniform(random);
    store_from_float(&value, dtype, 0, exact);
    value = load_as_float(&value, dtype, 0);
  }
  return values;
}

AlignedBytes stored(DType dtype, const std::vector<float>& values) {
  AlignedBytes bytes(std::ssize(values) * size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    store_from_float(bytes.data(), dtype, static_cast<int64_t>(i), values[i]);
  }
  return bytes;
}

ThreadPool& bench_pool() {
  static ThreadPool pool([] {
    const char* threads = std::getenv("ZOETROPE_BENCH_THREADS");
    return threads == nullptr ? 0 : std::atoi(threads);
  }());
  return pool;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const char* short_name(DType dtype) { return dtype == DType::kFloat32 ? "f32" : "bf16"; }

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

// Enough turns for a median, few where a turn takes long.
void take_turns(const std::function<void()>& turn) {
  constexpr int kTurns = 5;
  constexpr double kSeconds = 1.5;
  constexpr double kMostSeconds = 10;
  double spent = 0;
  for (int i = 0; (i < kTurns || spent < kSeconds) && spent < kMostSeconds; ++i) {
    spent += seconds_of(turn);
  }
}

}  // namespace

Medians time_beside_peak(benchmark::State& state, DType operands, double flops,
                         const std::function<void()>& work, const std::function<void()>& baseline) {
  constexpr double kFlopsOfTurn = 1e10;
  constexpr double kPeakSeconds = 0.02;
  const auto repeats = std::clamp<int64_t>(std::llround(kFlopsOfTurn / flops), 1, 200);
  const auto seconds = [&](const std::function<void()>& run) {
    return seconds_of([&] {
             for (int64_t i = 0; i < repeats; ++i) run();
           }) /
           static_cast<double>(repeats);
  };
  std::vector<double> times, peaks, baseline_times, ratios;
  const auto turn = [&] {
    peaks.push_back(cpu::measure_peak_flops(operands, bench_pool(), kPeakSeconds) / 1e9);
    times.push_back(seconds(work));
    if (!baseline) return;
    baseline_times.push_back(seconds(baseline));
    ratios.push_back(times.back() / baseline_times.back());
    // A peer's own threads may still wait busily for more.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  for (auto _ : state) {
    take_turns(turn);
    state.SetIterationTime(median(times));
  }
  const double rate = flops / median(times) / 1e9;
  state.counters["GFLOP/s"] = rate;
  state.counters["peak"] = median(peaks);
  state.counters["share"] = rate / median(peaks);
  if (!baseline) return {};
  return {.baseline_seconds = median(baseline_times), .time_over_baseline = median(ratios)};
}

}  // namespace zoetrope::bench

int main(int argc, char** argv) {
  using zoetrope::DType;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  zoetrope::ThreadPool& pool = zoetrope::bench::bench_pool();
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    benchmark::AddCustomContext(
        fmt::format("peak_gflops_{}", zoetrope::bench::short_name(dtype)),
        fmt::format("{:.1f}", zoetrope::cpu::measure_peak_flops(dtype, pool) / 1e9));
  }
  benchmark::AddCustomContext(
      "copy_gigabytes_per_second",
      fmt::format("{:.1f}", zoetrope::cpu::measure_copy_bandwidth(pool) / 1e9));
  benchmark::AddCustomContext("threads", fmt::format("{}", pool.threads()));
  benchmark::AddCustomContext("onednn", zoetrope::bench::onednn_version());
  zoetrope::bench::register_conv3d();
  zoetrope::bench::register_attention();
  zoetrope::bench::register_pointwise();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
