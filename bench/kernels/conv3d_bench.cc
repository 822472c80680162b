// SPDX-License-Identifier: Apache-2.0
// Convs: checked against float64 on a sample of outputs, then timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "bench/kernels/kernels_bench.h"
#include "bench/shapes.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/conv3d.h"
#include "tests/reference/conv3d.h"

namespace zoetrope::bench {
namespace {

class Conv {
 public:
  Conv(const ConvCase& shape, const cpu::Conv3dKernel& kernel) : dtype_(kernel.operands) {
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
    size_ = shape.frames / shape.stride_time * out * out * shape.c_out;
    x_ = random_values(dtype_, shape.frames * plane, 1);
    history_ = random_values(dtype_, (kt - shape.stride_time) * plane, 2);
    weight_ = random_values(dtype_, shape.c_out * shape.c_in * taps, 3);
    bias_ = random_values(DType::kFloat32, shape.c_out, 4);
    gamma_ = random_values(DType::kFloat32, shape.c_out, 5);
    stored_x_ = stored(dtype_, x_);
    stored_history_ = stored(dtype_, history_);
    residual_ = stored(dtype_, random_values(dtype_, size_, 6));
    packed_ = AlignedBytes(kernel.packed_bytes(shape.c_out, shape.c_in, taps, 1));
    kernel.pack(weight_.data(), shape.c_out, shape.c_in, taps, 1, packed_.data());
    y_ = AlignedBytes(size_ * size_of(dtype_));
    activated_ = AlignedBytes(size_ * size_of(dtype_));
    args_.x = stored_x_.data();
    args_.history = stored_history_.data();
    args_.weight = packed_.data();
    args_.bias = bias_.data();
    args_.y = y_.data();
  }

  const cpu::Conv3dArgs& plain() const { return args_; }

  // For the next conv alone.
  cpu::Conv3dArgs norm_silu() {
    cpu::Conv3dArgs args = args_;
    args.gamma = gamma_.data();
    args.silu = true;
    args.y = nullptr;
    args.activated = activated_.data();
    return args;
  }

  // At the end of a residual block.
  cpu::Conv3dArgs residual_norm_silu() {
    cpu::Conv3dArgs args = norm_silu();
    args.residual = residual_.data();
    args.y = y_.data();
    return args;
  }

  double flops() const {
    const int64_t taps =
        (args_.kernel_time - args_.first_tap) * args_.kernel_height * args_.kernel_width;
    return 2.0 * static_cast<double>(size_ * args_.c_in * taps);
  }

  // Largest error over 200 outputs of plain(), relative to what rounding of the sum allows.
  double error() const {
    const reference::ConvOperands operands = {
        .x = x_.data(), .history = history_.data(), .weight = weight_.data(), .bias = bias_.data()};
    std::mt19937_64 random(5);
    double worst = 0;
    for (int i = 0; i < 200; ++i) {
      const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(size_));
      const int64_t pixel = index / args_.c_out;
      const int64_t line = pixel / args_.out_width;
      const reference::ConvValue expected =
          reference::conv3d(args_, operands,
                            {line / args_.out_height, line % args_.out_height,
                             pixel % args_.out_width, index % args_.c_out});
      const double allowed = expected.magnitude * 64 * 0x1p-24 +
                             (dtype_ == DType::kBFloat16 ? std::abs(expected.value) * 0x1p-7 : 0.0);
      const double y = load_as_float(y_.data(), dtype_, index);
      worst = std::max(worst, std::abs(y - expected.value) / allowed);
    }
    return worst;
  }

 private:
  DType dtype_;
  cpu::Conv3dArgs args_;
  int64_t size_ = 0;  // of the output
  std::vector<float> x_, history_, weight_, bias_, gamma_;
  AlignedBytes stored_x_, stored_history_, residual_, packed_, y_, activated_;
};

using Variant = cpu::Conv3dArgs (Conv::*)();

// A variant is timed in turn with the plain conv.
void run_conv(benchmark::State& state, const ConvCase& shape, const cpu::Conv3dKernel& kernel,
              Variant variant) {
  Conv conv(shape, kernel);
  const auto plain = [&] { kernel.run(conv.plain(), bench_pool(), {}); };
  plain();
  if (!(conv.error() <= 1)) return state.SkipWithError("wrong result");
  if (variant == nullptr) {
    return time_beside_peak(state, kernel.operands, conv.flops(), plain);
  }
  const cpu::Conv3dArgs args = (conv.*variant)();
  time_beside_peak(
      state, kernel.operands, conv.flops(), [&] { kernel.run(args, bench_pool(), {}); }, plain);
}

void add_row(const std::string& name, const ConvCase& shape, const cpu::Conv3dKernel& kernel,
             Variant variant) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&shape, &kernel, variant](benchmark::State& state) {
                                 run_conv(state, shape, kernel, variant);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

void register_conv3d() {
  for (const cpu::Conv3dKernel& kernel : cpu::conv3d_kernels()) {
    for (const ConvCase& shape : kConvCases) {
      const std::string name = fmt::format("{}/{}", kernel.name, shape.name);
      add_row(name, shape, kernel, nullptr);
      if (!shape.epilogues) continue;
      add_row(name + "/norm_silu", shape, kernel, &Conv::norm_silu);
      add_row(name + "/residual_norm_silu", shape, kernel, &Conv::residual_norm_silu);
    }
  }
}

}  // namespace zoetrope::bench
