// SPDX-License-Identifier: Apache-2.0
// Pointwise ops over 4 frames of 128 x 128 pixels of 96 channels, in bytes read and written a
// second. The right results are the tests' business: these loops have no variants.
#include <fmt/format.h>

#include <functional>

#include "bench/kernels/kernels_bench.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/pointwise.h"

namespace zoetrope::bench {
namespace {

constexpr int64_t kPixels = 4 * 128 * 128;
constexpr int64_t kChannels = 96;

using Op = std::function<void(const float* x, const float* gamma, float* y)>;

// `passes`: arrays read and written.
void add_row(const std::string& name, int64_t passes, Op op) {
  benchmark::RegisterBenchmark(name.c_str(), [passes, op = std::move(op)](benchmark::State& state) {
    const AlignedFloats x = random_floats(kPixels * kChannels, 1);
    const AlignedFloats gamma = random_floats(kChannels, 2);
    AlignedFloats y = random_floats(kPixels * kChannels, 3);
    for (auto _ : state) op(x.data(), gamma.data(), y.data());
    state.SetBytesProcessed(state.iterations() * passes * x.size() *
                            static_cast<int64_t>(sizeof(float)));
  })->UseRealTime();
}

}  // namespace

void register_pointwise() {
  ThreadPool& pool = bench_pool();
  for (const cpu::PointwiseKernels& kernels : cpu::pointwise_kernels()) {
    const std::string prefix = fmt::format("pointwise_{:#x}/", kernels.target);
    for (const bool silu : {false, true}) {
      add_row(prefix + (silu ? "rms_norm_silu" : "rms_norm"), 2,
              [&, silu](const float* x, const float* gamma, float* y) {
                kernels.rms_norm(x, gamma, kPixels, kChannels, silu, y, pool, {});
              });
    }
    add_row(prefix + "silu", 2, [&](const float* x, const float*, float* y) {
      kernels.silu(x, kPixels * kChannels, y, pool, {});
    });
    add_row(prefix + "add", 3, [&](const float* x, const float*, float* y) {
      kernels.add(x, y, kPixels * kChannels, y, pool, {});
    });
  }
}

}  // namespace zoetrope::bench
