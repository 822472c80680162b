// SPDX-License-Identifier: Apache-2.0
// Pointwise ops over 4 frames of 128 x 128 pixels of 96 channels, in bytes read and written a
// second. The right results are the tests' business: these loops have no variants.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernels/kernels_bench.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/pointwise.h"

namespace zoetrope::bench {
namespace {

constexpr int64_t kPixels = 4 * 128 * 128;
constexpr int64_t kChannels = 96;

using Op = std::function<void(const void* x, const float* gamma, void* y)>;

// `passes`: arrays read and written.
void add_row(const std::string& name, DType dtype, int64_t passes, Op op) {
  const auto run = [dtype, passes, op = std::move(op)](benchmark::State& state) {
    const AlignedBytes x = stored(dtype, random_values(dtype, kPixels * kChannels, 1));
    const std::vector<float> gamma = random_values(DType::kFloat32, kChannels, 2);
    AlignedBytes y = stored(dtype, random_values(dtype, kPixels * kChannels, 3));
    for (auto _ : state) op(x.data(), gamma.data(), y.data());
    state.SetBytesProcessed(state.iterations() * passes * x.size());
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime();
}

}  // namespace

void register_pointwise() {
  ThreadPool& pool = bench_pool();
  for (const cpu::PointwiseKernels& kernels : cpu::pointwise_kernels()) {
    const DType dtype = kernels.operands;
    const std::string prefix =
        fmt::format("pointwise_{}_{:#x}/", short_name(dtype), kernels.target);
    for (const bool silu : {false, true}) {
      add_row(prefix + (silu ? "rms_norm_silu" : "rms_norm"), dtype, 2,
              [&, silu](const void* x, const float* gamma, void* y) {
                kernels.rms_norm(x, gamma, kPixels, kChannels, silu, y, pool, {});
              });
    }
    add_row(prefix + "silu", dtype, 2, [&](const void* x, const float*, void* y) {
      kernels.silu(x, kPixels * kChannels, y, pool, {});
    });
    add_row(prefix + "add", dtype, 3, [&](const void* x, const float*, void* y) {
      kernels.add(x, y, kPixels * kChannels, y, pool, {});
    });
  }
}

}  // namespace zoetrope::bench
