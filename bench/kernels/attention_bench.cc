// SPDX-License-Identifier: Apache-2.0
// Attention: checked against float64 on a few queries, then timed.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/dtype.h"
#include "bench/kernels/kernels_bench.h"
#include "bench/shapes.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/attention.h"
#include "tests/reference/attention.h"

namespace zoetrope::bench {
namespace {

bool is_right(const std::vector<float>& qkv, const cpu::AttentionArgs& args, DType dtype) {
  // Values are at most 1; bfloat16 has 8 significant bits.
  const double allowed = dtype == DType::kFloat32 ? 1e-5 : 0x1p-8;
  for (const int64_t query : {int64_t{0}, args.positions / 2, args.positions - 1}) {
    const std::vector<double> expected =
        reference::attention(qkv.data(), args.positions, args.channels, query);
    for (int64_t c = 0; c < args.channels; ++c) {
      const double y = load_as_float(args.y, dtype, query * args.channels + c);
      if (!(std::abs(y - expected[static_cast<size_t>(c)]) < allowed)) return false;
    }
  }
  return true;
}

void run_attention(benchmark::State& state, const AttentionCase& shape,
                   const cpu::AttentionKernel& kernel) {
  const int64_t elements = shape.frames * shape.positions * shape.channels;
  const std::vector<float> qkv = random_values(kernel.operands, 3 * elements, 1);
  const AlignedBytes stored_qkv = stored(kernel.operands, qkv);
  AlignedBytes workspace((kernel.workspace_fixed(shape.channels) +
                          kernel.workspace_per_position(shape.channels) * shape.positions) *
                         size_of(DType::kFloat32));
  AlignedBytes y(elements * size_of(kernel.operands));
  const cpu::AttentionArgs args = {.qkv = stored_qkv.data(),
                                   .frames = shape.frames,
                                   .positions = shape.positions,
                                   .channels = shape.channels,
                                   .workspace = reinterpret_cast<float*>(workspace.data()),
                                   .y = y.data()};
  const auto run = [&] { kernel.run(args, bench_pool(), {}); };
  run();
  if (!is_right(qkv, args, kernel.operands)) return state.SkipWithError("wrong result");
  time_beside_peak(state, kernel.operands, 4.0 * static_cast<double>(elements * shape.positions),
                   run);
}

}  // namespace

void register_attention() {
  for (const cpu::AttentionKernel& kernel : cpu::attention_kernels()) {
    for (const AttentionCase& shape : kAttentionCases) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}", kernel.name, shape.name).c_str(),
          [&](benchmark::State& state) { run_attention(state, shape, kernel); })
          ->Iterations(1)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace zoetrope::bench
