// SPDX-License-Identifier: Apache-2.0
// Runs a conv of tests/cpu/conv3d_case.h on a GPU, by any row of the table of kernels.
#pragma once

#include <optional>
#include <vector>

#include "base/dtype.h"
#include "cuda/conv_kernels.h"
#include "tests/cpu/conv3d_case.h"
#include "tests/cuda/device_buffers.h"

namespace zoetrope {

// Types of the results where they are not the operands'.
struct ConvTypes {
  DType operands = DType::kFloat32;
  std::optional<DType> raw = {};  // of the residual too
  std::optional<DType> activated = {};
};

// A conv, its operands, and the row of the table that runs it: the last one if not said otherwise.
class Conv {
 public:
  Conv(const ConvTypes& of, const cpu::Conv3dArgs& conv_shape, bool history, uint64_t seed)
      : types(of), data(of.operands, conv_shape, history, seed) {
    data.residual = rounded_to(raw_type({}), data.residual);
  }

  DType raw_type(const ConvExtras& extras) const {
    return extras.raw_float32 ? DType::kFloat32 : types.raw.value_or(types.operands);
  }
  DType activated_type() const { return types.activated.value_or(types.operands); }
  int64_t outputs() const { return data.output_pixels() * data.shape.c_out; }

  ConvResult run(const ConvExtras& extras) const {
    const bool has_history = !data.history.empty();
    const DeviceBytes x(types.operands, data.x), history(types.operands, data.history);
    const DeviceBytes shortcut(types.operands, data.shortcut);
    const DeviceBytes bias(DType::kFloat32, data.bias), gamma(DType::kFloat32, data.gamma);
    const bool in_raw = extras.residual_is == ConvExtras::Alias::kRaw;
    const bool in_activated = extras.residual_is == ConvExtras::Alias::kActivated;
    const DeviceOutput y = output(raw_type(extras), in_raw);
    const DeviceOutput activated = output(activated_type(), in_activated);
    const DeviceBytes residual(raw_type({}), data.residual);
    cuda::Conv3dArgs args = arguments();
    args.x = x.data();
    args.history = has_history ? history.data() : nullptr;
    args.bias = data.bias.empty() ? nullptr : bias.floats();
    args.shortcut = extras.shortcut ? shortcut.data() : nullptr;
    args.residual_type = in_activated ? activated_type() : in_raw ? raw_type(extras) : raw_type({});
    if (extras.residual) {
      args.residual = in_activated ? activated.data() : in_raw ? y.data() : residual.data();
    }
    args.gamma = extras.norm ? gamma.floats() : nullptr;
    args.silu = extras.silu;
    args.y_type = raw_type(extras);
    args.activated_type = activated_type();
    args.y = extras.raw ? y.data() : nullptr;
    args.activated = extras.norm ? activated.data() : nullptr;
    launch(args);
    ConvResult result;
    if (extras.raw) result.y = y.values();
    if (extras.norm) result.activated = activated.values();
    return result;
  }

  // Whether `row` runs this conv with these extras. Frames of odd sizes have no planes by parity.
  bool is_run_by(const cuda::ConvKernel& row, const ConvExtras& extras) const {
    static char there = 0;
    cuda::Conv3dArgs args = arguments();
    args.residual_type = raw_type({});
    args.y_type = raw_type(extras);
    args.activated_type = activated_type();
    if (extras.residual) args.residual = &there;
    if (extras.shortcut) args.shortcut = &there;
    if (!extras.shortcut) args.c_shortcut = 0;
    if (extras.norm) args.gamma = reinterpret_cast<const float*>(&there);
    if (extras.norm) args.activated = &there;
    if (extras.raw) args.y = &there;
    return row.refusal(args, gpu_capability()).empty() &&
           (args.stride_space == 1 || args.height % 2 + args.width % 2 == 0);
  }

  ConvTypes types;
  ConvCase data;
  const cuda::ConvKernel* kernel = &cuda::conv_kernels().back();

 private:
  void launch(cuda::Conv3dArgs args) const {
    const cpu::Conv3dArgs& s = data.shape;
    const cuda::ConvLayout layout = {.kernel = kernel->name,
                                     .operands = types.operands,
                                     .variant = kernel->layout_variant(args),
                                     .parts = data.parts()};
    const DeviceBytes weight(kernel->pack(
        layout, {data.filters(), s.c_in, s.kernel_time, s.kernel_height, s.kernel_width},
        data.weight.data()));
    cuda::ConvLayout of_shortcut = layout;
    of_shortcut.parts = 1;
    const DeviceBytes shortcut_weight(
        args.shortcut == nullptr ? std::vector<std::byte>()
                                 : kernel->pack(of_shortcut, {s.c_out, s.c_shortcut, 1, 1, 1},
                                                data.shortcut_weight.data()));
    const int64_t pixels = (s.frames + s.kernel_time) * s.height * s.width;
    const DeviceOutput workspace(types.operands, pixels * kernel->workspace_per_pixel);
    args.weight = weight.data();
    args.shortcut_weight = shortcut_weight.data();
    args.workspace = workspace.data();
    cuda::check(kernel->run(args, nullptr), kernel->name);
    cuda::check(cudaDeviceSynchronize(), kernel->name);
  }

  cuda::Conv3dArgs arguments() const {
    const cpu::Conv3dArgs& s = data.shape;
    return {.operands = types.operands,
            .frames = s.frames,
            .height = s.height,
            .width = s.width,
            .c_in = s.c_in,
            .kernel_time = s.kernel_time,
            .kernel_height = s.kernel_height,
            .kernel_width = s.kernel_width,
            .first_tap = s.first_tap,
            .stride_time = s.stride_time,
            .stride_space = s.stride_space,
            .pad_before = s.pad_before,
            .c_shortcut = s.c_shortcut,
            .store = static_cast<cuda::Conv3dStore>(s.store),
            .out_height = s.out_height,
            .out_width = s.out_width,
            .c_out = s.c_out};
  }

  DeviceOutput output(DType dtype, bool holds_residual) const {
    return holds_residual ? DeviceOutput(dtype, data.residual) : DeviceOutput(dtype, outputs());
  }
};

}  // namespace zoetrope
