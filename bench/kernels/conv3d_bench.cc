// SPDX-License-Identifier: Apache-2.0
// Convs: checked against float64 on a sample of outputs, then timed; oneDNN's beside the best
// kernel of each type, checked the same way.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "bench/kernels/conv3d_problem.h"
#include "bench/kernels/kernels_bench.h"
#include "bench/kernels/onednn.h"
#include "bench/shapes.h"
#include "benchmark/benchmark.h"
#include "cpu/kernels/conv3d.h"

namespace zoetrope::bench {
namespace {

class Conv {
 public:
  Conv(const ConvCase& shape, const cpu::Conv3dKernel& kernel)
      : kernel_(kernel), problem_(compiled_problem(shape, kernel.operands)), args_(problem_.args) {
    const DType dtype = kernel.operands;
    const int64_t taps = args_.kernel_time * args_.kernel_height * args_.kernel_width;
    const int64_t parts = problem_.filters / args_.c_out;
    x_ = stored(dtype, problem_.x);
    history_ = stored(dtype, problem_.history);
    weight_ = packed(problem_.weight, problem_.filters, args_.c_in, taps, parts);
    y_ = AlignedBytes(problem_.outputs * size_of(dtype));
    args_.x = x_.data();
    args_.history = history_.data();
    args_.weight = weight_.data();
    args_.bias = problem_.bias.data();
    args_.y = y_.data();
    scratch_ = AlignedBytes(bench_pool().threads() * kernel.scratch_floats(args_) *
                            size_of(DType::kFloat32));
    args_.scratch = reinterpret_cast<float*>(scratch_.data());
    if (shape.epilogues) prepare_epilogues(shape.c_shortcut);
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

  // At the end of a residual block that widens.
  cpu::Conv3dArgs shortcut_norm_silu() {
    cpu::Conv3dArgs args = norm_silu();
    args.shortcut = shortcut_.data();
    args.shortcut_weight = shortcut_weight_.data();
    args.c_shortcut = shortcut_.size() / size_of(kernel_.operands) / pixels();
    args.y = y_.data();
    return args;
  }

  void run(const cpu::Conv3dArgs& args) const { kernel_.run(args, bench_pool(), {}); }

  double flops_of(const cpu::Conv3dArgs& args) const {
    return flops(problem_) + 2.0 * static_cast<double>(problem_.outputs * args.c_shortcut);
  }

  // Of plain().
  bool is_right() const {
    return worst_error(problem_, kernel_.operands, [&](int64_t index) {
             return load_as_float(y_.data(), kernel_.operands, index);
           }) <= 1;
  }

 private:
  int64_t pixels() const { return problem_.outputs / args_.c_out; }

  AlignedBytes packed(const std::vector<float>& weight, int64_t filters, int64_t c_in, int64_t taps,
                      int64_t parts) const {
    AlignedBytes bytes(kernel_.packed_bytes(filters, c_in, taps, parts));
    kernel_.pack(weight.data(), filters, c_in, taps, parts, bytes.data());
    return bytes;
  }

  void prepare_epilogues(int64_t c_shortcut) {
    const DType dtype = kernel_.operands;
    gamma_ = random_values(DType::kFloat32, args_.c_out, 5);
    residual_ = stored(dtype, random_values(dtype, problem_.outputs, 6));
    activated_ = AlignedBytes(problem_.outputs * size_of(dtype));
    if (c_shortcut == 0) return;
    shortcut_ = stored(dtype, random_values(dtype, pixels() * c_shortcut, 7));
    shortcut_weight_ =
        packed(random_values(dtype, args_.c_out * c_shortcut, 8), args_.c_out, c_shortcut, 1, 1);
  }

  const cpu::Conv3dKernel& kernel_;
  Conv3dProblem problem_;
  cpu::Conv3dArgs args_;
  std::vector<float> gamma_;
  AlignedBytes x_, history_, weight_, y_, activated_, residual_, shortcut_, shortcut_weight_;
  AlignedBytes scratch_;
};

// In turn with oneDNN's conv if `beside`.
void run_plain(benchmark::State& state, const ConvCase& shape, const cpu::Conv3dKernel& kernel,
               bool beside) {
  Conv conv(shape, kernel);
  const auto run = [&] { conv.run(conv.plain()); };
  run();
  if (!conv.is_right()) return state.SkipWithError("wrong result");
  const double flops_of_run = conv.flops_of(conv.plain());
  std::unique_ptr<OneDnnConv> peer;
  double peer_flops = 0;
  if (beside) {
    const Conv3dProblem problem = plain_problem(shape, kernel.operands);
    peer = make_onednn_conv(problem, kernel.operands, bench_pool().threads());
    peer_flops = flops(problem);
    if (peer != nullptr) {
      peer->run();
      const std::vector<float> y = peer->y();
      const double error = worst_error(problem, kernel.operands,
                                       [&](int64_t i) { return y[static_cast<size_t>(i)]; });
      if (!(error <= 1)) return state.SkipWithError("oneDNN's result is wrong");
    }
  }
  if (peer == nullptr) return void(time_beside_peak(state, kernel.operands, flops_of_run, run));
  const Medians medians =
      time_beside_peak(state, kernel.operands, flops_of_run, run, [&] { peer->run(); });
  state.counters["onednn_GFLOP/s"] = peer_flops / medians.baseline_seconds / 1e9;
  state.counters["speed_over_onednn"] = 1 / medians.time_over_baseline;
}

using Variant = cpu::Conv3dArgs (Conv::*)();

// In turn with the plain conv.
void run_variant(benchmark::State& state, const ConvCase& shape, const cpu::Conv3dKernel& kernel,
                 Variant variant) {
  Conv conv(shape, kernel);
  const cpu::Conv3dArgs args = (conv.*variant)();
  const Medians medians = time_beside_peak(
      state, kernel.operands, conv.flops_of(args), [&] { conv.run(args); },
      [&] { conv.run(conv.plain()); });
  state.counters["time_over_plain"] = medians.time_over_baseline;
}

template <typename Run>
void add_row(const std::string& name, Run run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add_variant(const std::string& name, const ConvCase& shape, const cpu::Conv3dKernel& kernel,
                 Variant variant) {
  add_row(name, [&shape, &kernel, variant](benchmark::State& state) {
    run_variant(state, shape, kernel, variant);
  });
}

void add_rows(const ConvCase& shape, const cpu::Conv3dKernel& kernel, bool best) {
  const std::string name = fmt::format("{}/{}", kernel.name, shape.name);
  add_row(name, [&shape, &kernel, best](benchmark::State& state) {
    run_plain(state, shape, kernel, best);
  });
  if (!shape.epilogues) return;
  add_variant(name + "/norm_silu", shape, kernel, &Conv::norm_silu);
  add_variant(name + "/residual_norm_silu", shape, kernel, &Conv::residual_norm_silu);
  if (shape.c_shortcut == 0) return;
  add_variant(name + "/shortcut_norm_silu", shape, kernel, &Conv::shortcut_norm_silu);
}

}  // namespace

void register_conv3d() {
  std::set<std::pair<DType, std::string>> seen;
  for (const cpu::Conv3dKernel& kernel : cpu::conv3d_kernels()) {
    for (const ConvCase& shape : kConvCases) {
      if (!kernel.refusal(compiled_args(shape)).empty()) continue;
      add_rows(shape, kernel, seen.emplace(kernel.operands, shape.name).second);
    }
  }
}

}  // namespace zoetrope::bench
