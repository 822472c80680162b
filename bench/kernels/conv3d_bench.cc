// SPDX-License-Identifier: Apache-2.0
// Convs: checked against float64 on a sample of outputs, then timed. Each timed run is preceded by
// a measurement of the machine's peak, so that the share holds on a machine that others use too.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <vector>

#include "bench/kernels/kernels_bench.h"
#include "bench/kernels/peak.h"
#include "bench/shapes.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/conv3d.h"
#include "tests/reference/conv3d.h"

namespace zoetrope::bench {
namespace {

class Conv {
 public:
  Conv(const ConvCase& shape, const cpu::Conv3dKernel& kernel) {
    const auto [kt, kh, kw] = shape.kernel;
    const int64_t out = shape.stride_space == 1 ? shape.size : shape.size / shape.stride_space;
    args_ = {.frames = shape.frames,
             .height = shape.size,
             .width = shape.size,
             .c_in = shape.c_in,
             .kernel_time = kt,
             .kernel_height = kh,
             .kernel_width = kw,
             .first_tap = shape.first_tap,
             .stride_time = shape.stride_time,
             .stride_space = shape.stride_space,
             .pad_before = shape.pad_before,
             .out_height = out,
             .out_width = out,
             .c_out = shape.c_out};
    const int64_t plane = shape.size * shape.size * shape.c_in;
    const int64_t taps = kt * kh * kw;
    x_ = random_floats(shape.frames * plane, 1);
    history_ = random_floats((kt - shape.stride_time) * plane, 2);
    weight_ = random_floats(shape.c_out * shape.c_in * taps, 3);
    bias_ = random_floats(shape.c_out, 4);
    packed_ = AlignedFloats(kernel.packed_bytes(shape.c_out, shape.c_in, taps) / 4);
    kernel.pack(weight_.data(), shape.c_out, shape.c_in, taps,
                reinterpret_cast<std::byte*>(packed_.data()));
    y_ = AlignedFloats(shape.frames / shape.stride_time * out * out * shape.c_out);
    args_.x = x_.data();
    args_.history = history_.data();
    args_.weight = packed_.data();
    args_.bias = bias_.data();
    args_.y = y_.data();
  }

  const cpu::Conv3dArgs& args() const { return args_; }

  double flops() const {
    const int64_t taps =
        (args_.kernel_time - args_.first_tap) * args_.kernel_height * args_.kernel_width;
    return 2.0 * static_cast<double>(y_.size() * args_.c_in * taps);
  }

  // Largest error over 200 outputs, relative to what float32 rounding of the sum allows.
  double error() const {
    std::mt19937_64 random(5);
    double worst = 0;
    for (int i = 0; i < 200; ++i) {
      const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(y_.size()));
      const int64_t pixel = index / args_.c_out;
      const int64_t line = pixel / args_.out_width;
      const reference::ConvValue expected =
          reference::conv3d(args_, weight_.data(), line / args_.out_height, line % args_.out_height,
                            pixel % args_.out_width, index % args_.c_out);
      const double difference = std::abs(double{y_.data()[index]} - expected.value);
      worst = std::max(worst, difference / (expected.magnitude * 64 * 0x1p-24));
    }
    return worst;
  }

 private:
  cpu::Conv3dArgs args_;
  AlignedFloats x_, history_, weight_, bias_, packed_, y_;
};

void run_conv(benchmark::State& state, const ConvCase& shape, const cpu::Conv3dKernel& kernel) {
  ThreadPool& pool = bench_pool();
  Conv conv(shape, kernel);
  kernel.run(conv.args(), pool, {});
  if (conv.error() > 1) return state.SkipWithError("wrong result");
  const int64_t repeats = std::max<int64_t>(1, std::llround(2e9 / conv.flops()));
  std::vector<double> rates, peaks;
  for (auto _ : state) {
    peaks.push_back(measure_peak_gflops(pool));
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeats; ++i) kernel.run(conv.args(), pool, {});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(seconds.count() / static_cast<double>(repeats));
    rates.push_back(conv.flops() * static_cast<double>(repeats) / seconds.count() / 1e9);
  }
  report(state, rates, peaks);
}

}  // namespace

void register_conv3d() {
  for (const cpu::Conv3dKernel& kernel : cpu::conv3d_kernels()) {
    for (const ConvCase& shape : kConvCases) {
      benchmark::RegisterBenchmark(fmt::format("{}/{}", kernel.name, shape.name).c_str(),
                                   [&](benchmark::State& state) { run_conv(state, shape, kernel); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace zoetrope::bench
