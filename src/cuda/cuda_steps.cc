// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_steps.h"

#include <string>

#include "backend/step_operands.h"
#include "base/fail.h"
#include "cuda/conv_kernels.h"
#include "cuda/cuda_error.h"
#include "cuda/kernels/attention.h"
#include "cuda/kernels/attention_sm90.h"
#include "cuda/kernels/pointwise.h"
#include "cuda/nvtx_range.h"

namespace zoetrope::cuda {
namespace {

Input input_of(const Operand& operand) { return {operand.data, operand.dtype}; }
Output output_of(const Operand& operand) { return {operand.data, operand.dtype}; }

class StepRun : StepOperands {
 public:
  StepRun(const Step& step, const StepContext& context)
      : StepOperands(context.plan, step, context.launch), context_(context) {}

  cudaError_t launch() const {
    if (step().op == "conv") return conv3d();
    if (step().op == "attention") return run_attention();
    if (step().op == "rms_norm") return norm();
    if (step().op == "silu") return activate();
    if (step().op == "add") return sum();
    if (step().op == "upsample_nearest") return upsample_nearest(copy(operand("x")), stream());
    if (step().op == "frame_interleave") return interleave();
    if (step().op == "carry") return carry_history();
    fail(ErrorCode::kInternal, "{}: the plan names op {}, which no CUDA kernel does", step().name,
         step().op);
  }

 private:
  cudaStream_t stream() const { return context_.stream; }

  [[noreturn]] void no_kernel() const {
    fail(ErrorCode::kInternal, "{}: the plan names kernel {}, which does not exist", step().name,
         step().kernel);
  }

  cudaError_t conv3d() const {
    const Operand x = operand("x");
    const Operand y = operand("y");
    const Operand activated = operand("activated");
    const Operand shortcut = operand("shortcut");
    const Operand residual = operand("residual");
    const Operand& out = y.data != nullptr ? y : activated;
    const Conv3dArgs args = {.operands = x.dtype,
                             .residual_type = residual.dtype,
                             .y_type = y.dtype,
                             .activated_type = activated.dtype,
                             .x = x.data,
                             .history = operand("history").data,
                             .frames = x.frames,
                             .height = x.height,
                             .width = x.width,
                             .c_in = x.channels,
                             .kernel_time = attribute("kernel_time"),
                             .kernel_height = attribute("kernel_height"),
                             .kernel_width = attribute("kernel_width"),
                             .first_tap = attribute("first_tap"),
                             .stride_time = attribute("stride_time"),
                             .stride_space = attribute("stride_space"),
                             .pad_before = attribute("pad_before"),
                             .weight = constant("weight"),
                             .bias = constant("bias"),
                             .shortcut = shortcut.data,
                             .shortcut_weight = constant("shortcut_weight"),
                             .c_shortcut = shortcut.channels,
                             .residual = residual.data,
                             .gamma = constant("gamma"),
                             .silu = attribute("silu") != 0,
                             .store = static_cast<Conv3dStore>(attribute("store")),
                             .y = y.data,
                             .activated = activated.data,
                             .out_height = out.height,
                             .out_width = out.width,
                             .c_out = out.channels,
                             .workspace = operand("workspace").data};
    for (const ConvKernel& kernel : conv_kernels()) {
      if (step().kernel == step_kernel_name(kernel.name, x.dtype)) {
        return kernel.run(args, stream());
      }
    }
    no_kernel();
  }

  cudaError_t run_attention() const {
    const Operand y = operand("y");
    const AttentionArgs args = {.operands = y.dtype,
                                .qkv = operand("x").data,
                                .frames = y.frames,
                                .positions = y.pixels(),
                                .channels = y.channels,
                                .workspace = static_cast<std::byte*>(operand("workspace").data),
                                .y = y.data};
    if (step().kernel == step_kernel_name("attention", y.dtype)) return attention(args, stream());
    if (step().kernel == step_kernel_name("attention_sm90", y.dtype)) {
      return attention_sm90(args, attention_sm90_warpgroups(args.frames, args.positions), stream());
    }
    no_kernel();
  }

  cudaError_t norm() const {
    const Operand x = operand("x");
    return rms_norm({.x = input_of(x),
                     .gamma = constant("gamma"),
                     .pixels = x.frames * x.pixels(),
                     .channels = x.channels,
                     .silu = attribute("silu") != 0,
                     .y = output_of(operand("y"))},
                    stream());
  }

  cudaError_t activate() const {
    const Operand x = operand("x");
    return silu(input_of(x), x.elements(), output_of(operand("y")), stream());
  }

  cudaError_t sum() const {
    const Operand x = operand("x");
    return add(input_of(x), input_of(operand("residual")), x.elements(), output_of(operand("y")),
               stream());
  }

  PixelCopy copy(const Operand& x) const {
    return {.x = x.data,
            .frames = x.frames,
            .height = x.height,
            .width = x.width,
            .pixel_bytes = x.pixel_bytes(),
            .y = operand("y").data};
  }

  cudaError_t interleave() const {
    PixelCopy halves = copy(operand("x"));
    halves.pixel_bytes = operand("y").pixel_bytes();
    return frame_interleave(halves, stream());
  }

  cudaError_t carry_history() const {
    const Operand x = operand("x");
    const Operand history = operand("history");
    if (history.data == nullptr) return cudaSuccess;  // images in a batch have no next frame
    return carry({.x = x.data,
                  .frames = x.frames,
                  .frame_bytes = x.pixels() * x.pixel_bytes(),
                  .history_frames = history.frames,
                  .history = history.data},
                 stream());
  }

  const StepContext& context_;
};

}  // namespace

void launch_step(const Step& step, const StepContext& context) {
  const NvtxRange range(step.name);
  check(StepRun(step, context).launch(), step.name);
}

}  // namespace zoetrope::cuda
