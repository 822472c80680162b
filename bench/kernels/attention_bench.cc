// SPDX-License-Identifier: Apache-2.0
// Attention: checked against float64 on a few queries, then timed.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "bench/kernels/kernels_bench.h"
#include "bench/kernels/peak.h"
#include "bench/shapes.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/attention.h"
#include "tests/reference/attention.h"

namespace zoetrope::bench {
namespace {

bool is_right(const cpu::AttentionArgs& args) {
  for (const int64_t query : {int64_t{0}, args.positions / 2, args.positions - 1}) {
    const std::vector<double> expected =
        reference::attention(args.qkv, args.positions, args.channels, query);
    for (int64_t c = 0; c < args.channels; ++c) {
      const double y = args.y[query * args.channels + c];
      if (!(std::abs(y - expected[static_cast<size_t>(c)]) < 1e-5)) return false;
    }
  }
  return true;
}

void run_attention(benchmark::State& state, const AttentionCase& shape,
                   const cpu::AttentionKernel& kernel) {
  ThreadPool& pool = bench_pool();
  const int64_t elements = shape.frames * shape.positions * shape.channels;
  AlignedFloats qkv = random_floats(3 * elements, 1);
  AlignedFloats workspace(kernel.workspace_fixed(shape.channels) +
                          kernel.workspace_per_position(shape.channels) * shape.positions);
  AlignedFloats y(elements);
  const cpu::AttentionArgs args = {.qkv = qkv.data(),
                                   .frames = shape.frames,
                                   .positions = shape.positions,
                                   .channels = shape.channels,
                                   .workspace = workspace.data(),
                                   .y = y.data()};
  kernel.run(args, pool, {});
  if (!is_right(args)) return state.SkipWithError("wrong result");
  const double flops = 4.0 * static_cast<double>(elements * shape.positions);
  std::vector<double> rates, peaks;
  for (auto _ : state) {
    peaks.push_back(measure_peak_gflops(pool));
    const auto start = std::chrono::steady_clock::now();
    kernel.run(args, pool, {});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(seconds.count());
    rates.push_back(flops / seconds.count() / 1e9);
  }
  report(state, rates, peaks);
}

}  // namespace

void register_attention() {
  for (const cpu::AttentionKernel& kernel : cpu::attention_kernels()) {
    for (const AttentionCase& shape : kAttentionCases) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}", kernel.name, shape.name).c_str(),
          [&](benchmark::State& state) { run_attention(state, shape, kernel); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace zoetrope::bench
