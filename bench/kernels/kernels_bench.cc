// SPDX-License-Identifier: Apache-2.0
// Times each kernel alone. Prints the machine's peak, then one line a case; --benchmark_format=json
// and Google Benchmark's other flags work.
#include "bench/kernels/kernels_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

#include "bench/kernels/peak.h"

namespace zoetrope::bench {

AlignedFloats::AlignedFloats(int64_t size)
    : size_(size),
      data_(static_cast<float*>(
          ::operator new[](static_cast<size_t>(size) * sizeof(float), std::align_val_t{64}))) {}

void AlignedFloats::Free::operator()(float* data) const {
  ::operator delete[](data, std::align_val_t{64});
}

AlignedFloats random_floats(int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  AlignedFloats values(size);
  for (int64_t i = 0; i < size; ++i) values.data()[i] = uniform(random);
  return values;
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

void report(benchmark::State& state, const std::vector<double>& gflops,
            const std::vector<double>& peaks) {
  state.counters["GFLOP/s"] = median(gflops);
  state.counters["peak"] = median(peaks);
  state.counters["share"] = median(gflops) / median(peaks);
}

}  // namespace zoetrope::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const double peak = zoetrope::bench::measure_peak_gflops(zoetrope::bench::bench_pool());
  benchmark::AddCustomContext("peak_gflops", fmt::format("{:.1f}", peak));
  benchmark::AddCustomContext("threads",
                              fmt::format("{}", zoetrope::bench::bench_pool().threads()));
  zoetrope::bench::register_conv3d();
  zoetrope::bench::register_attention();
  zoetrope::bench::register_pointwise();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
