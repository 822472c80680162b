// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/onednn.h"

#include <fmt/format.h>
#include <omp.h>

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

#include "base/fail.h"

namespace zoetrope::bench {
namespace {

using dnnl::memory;
using Format = memory::format_tag;
using Type = memory::data_type;

dnnl::engine& engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  static dnnl::stream stream(engine());
  return stream;
}

// Sizes in the library's order. A conv without taps in time is 2-D over a batch of frames, as
// frameworks run it; else one clip of frames with the history in front.
struct Sizes {
  bool with_time = false;
  memory::dims x, weight, y;
  memory::dims strides, pad_before, pad_after;
  Format pixels, filters;  // the layouts of Conv3dProblem's values
};

// For one spatial axis: what the last window reads past the end.
int64_t pad_after(int64_t size, int64_t out, int64_t stride, int64_t kernel, int64_t before) {
  return (out - 1) * stride + kernel - before - size;
}

Sizes sizes_of(const Conv3dProblem& problem) {
  const cpu::Conv3dArgs& a = problem.args;
  const int64_t below =
      pad_after(a.height, a.out_height, a.stride_space, a.kernel_height, a.pad_before);
  const int64_t right =
      pad_after(a.width, a.out_width, a.stride_space, a.kernel_width, a.pad_before);
  if (a.kernel_time == 1) {
    return {.with_time = false,
            .x = {a.frames, a.c_in, a.height, a.width},
            .weight = {a.c_out, a.c_in, a.kernel_height, a.kernel_width},
            .y = {a.frames, a.c_out, a.out_height, a.out_width},
            .strides = {a.stride_space, a.stride_space},
            .pad_before = {a.pad_before, a.pad_before},
            .pad_after = {below, right},
            .pixels = Format::nhwc,
            .filters = Format::oihw};
  }
  const int64_t history = a.kernel_time - a.stride_time;
  return {.with_time = true,
          .x = {1, a.c_in, history + a.frames, a.height, a.width},
          .weight = {a.c_out, a.c_in, a.kernel_time, a.kernel_height, a.kernel_width},
          .y = {1, a.c_out, a.frames / a.stride_time, a.out_height, a.out_width},
          .strides = {a.stride_time, a.stride_space, a.stride_space},
          .pad_before = {0, a.pad_before, a.pad_before},
          .pad_after = {0, below, right},
          .pixels = Format::ndhwc,
          .filters = Format::oidhw};
}

dnnl::convolution_forward::primitive_desc describe(const Sizes& sizes, Type type) {
  const memory::desc x(sizes.x, type, Format::any);
  const memory::desc weight(sizes.weight, type, Format::any);
  const memory::desc bias({sizes.weight[0]}, Type::f32, Format::x);
  const memory::desc y(sizes.y, type, Format::any);
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine(),         kKind,          kAlgorithm, x, weight, bias, y, sizes.strides,
          sizes.pad_before, sizes.pad_after};
#else
  return {{kKind, kAlgorithm, x, weight, bias, y, sizes.strides, sizes.pad_before, sizes.pad_after},
          engine()};
#endif
}

// `values` in `layout`, converted to the type and layout of `wanted`.
memory reordered(std::vector<float> values, const memory::dims& dims, Format layout,
                 const memory::desc& wanted) {
  memory source({dims, Type::f32, layout}, engine(), values.data());
  memory target(wanted, engine());
  dnnl::reorder(source, target).execute(stream(), source, target);
  stream().wait();
  return target;
}

class Conv final : public OneDnnConv {
 public:
  Conv(const Conv3dProblem& problem, const Sizes& sizes,
       const dnnl::convolution_forward::primitive_desc& chosen)
      : y_dims_(sizes.y), y_layout_(sizes.pixels), y_(chosen.dst_desc(), engine()), conv_(chosen) {
    std::vector<float> frames = sizes.with_time ? problem.history : std::vector<float>();
    frames.insert(frames.end(), problem.x.begin(), problem.x.end());
    const memory::dims bias_dims = {sizes.weight[0]};
    arguments_ = {
        {DNNL_ARG_SRC, reordered(std::move(frames), sizes.x, sizes.pixels, chosen.src_desc())},
        {DNNL_ARG_WEIGHTS,
         reordered(problem.weight, sizes.weight, sizes.filters, chosen.weights_desc())},
        {DNNL_ARG_BIAS, reordered(problem.bias, bias_dims, Format::x, chosen.bias_desc())},
        {DNNL_ARG_DST, y_}};
  }

  void run() override {
    conv_.execute(stream(), arguments_);
    stream().wait();
  }

  std::vector<float> y() override {
    size_t size = 1;
    for (const auto dim : y_dims_) size *= static_cast<size_t>(dim);
    std::vector<float> values(size);
    memory target({y_dims_, Type::f32, y_layout_}, engine(), values.data());
    dnnl::reorder(y_, target).execute(stream(), y_, target);
    stream().wait();
    return values;
  }

 private:
  memory::dims y_dims_;
  Format y_layout_;
  memory y_;
  dnnl::convolution_forward conv_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace

std::unique_ptr<OneDnnConv> make_onednn_conv(const Conv3dProblem& problem, DType dtype,
                                             int threads) {
  omp_set_num_threads(threads);
  const Sizes sizes = sizes_of(problem);
  try {
    const auto chosen = describe(sizes, dtype == DType::kFloat32 ? Type::f32 : Type::bf16);
    return std::make_unique<Conv>(problem, sizes, chosen);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    fail(ErrorCode::kInternal, "oneDNN: {}", error.what());
  }
}

std::string onednn_version() {
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace zoetrope::bench
