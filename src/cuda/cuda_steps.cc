// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_steps.h"

#include <string>

#include "base/fail.h"
#include "cuda/conv_kernels.h"
#include "cuda/cuda_error.h"
#include "cuda/kernels/attention.h"
#include "cuda/kernels/pointwise.h"

namespace zoetrope::cuda {
namespace {

// A step's buffer with its shape in this launch.
struct Operand {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t pixels() const { return height * width; }
  int64_t elements() const { return frames * pixels() * channels; }
  int64_t pixel_bytes() const { return channels * size_of(dtype); }
  Input input() const { return {data, dtype}; }
  Output output() const { return {data, dtype}; }
};

class StepRun {
 public:
  StepRun(const Step& step, const StepContext& context) : step_(step), context_(context) {}

  cudaError_t launch() const {
    if (step_.op == "conv") return conv3d();
    if (step_.op == "attention") return run_attention();
    if (step_.op == "rms_norm") return norm();
    if (step_.op == "silu") return activate();
    if (step_.op == "add") return sum();
    if (step_.op == "upsample_nearest") return upsample_nearest(copy(operand("x")), stream());
    if (step_.op == "frame_interleave") return interleave();
    if (step_.op == "carry") return carry_history();
    fail(ErrorCode::kInternal, "{}: the plan names op {}, which no CUDA kernel does", step_.name,
         step_.op);
  }

 private:
  cudaStream_t stream() const { return context_.stream; }

  // Null data if the step has no such operand, or the launch does not keep it.
  Operand operand(const std::string& role) const {
    const auto found = step_.buffers.find(role);
    if (found == step_.buffers.end()) return {};
    const auto index = static_cast<size_t>(found->second);
    const Extent& extent = context_.plan.buffers[index].extent;
    const Launch& launch = context_.launch;
    return {.data = launch.buffers[index],
            .dtype = extent.dtype,
            .frames = extent.frame_count(launch.n),
            .height = launch.height / extent.stride,
            .width = launch.width / extent.stride,
            .channels = extent.channels};
  }

  const float* constant(const std::string& role) const {
    const auto found = step_.constants.find(role);
    if (found == step_.constants.end()) return nullptr;
    const auto index = static_cast<size_t>(found->second);
    return reinterpret_cast<const float*>(context_.launch.constants[index]);
  }

  int64_t attribute(const std::string& name) const { return step_.attributes.at(name); }

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
                             .c_out = out.channels};
    for (const ConvKernel& kernel : conv_kernels()) {
      if (step_.kernel == step_kernel_name(kernel.name, x.dtype)) {
        return kernel.run(args, stream());
      }
    }
    fail(ErrorCode::kInternal, "{}: the plan names kernel {}, which does not exist", step_.name,
         step_.kernel);
  }

  cudaError_t run_attention() const {
    const Operand y = operand("y");
    return attention({.operands = y.dtype,
                      .qkv = operand("x").data,
                      .frames = y.frames,
                      .positions = y.pixels(),
                      .channels = y.channels,
                      .workspace = static_cast<std::byte*>(operand("workspace").data),
                      .y = y.data},
                     stream());
  }

  cudaError_t norm() const {
    const Operand x = operand("x");
    return rms_norm({.x = x.input(),
                     .gamma = constant("gamma"),
                     .pixels = x.frames * x.pixels(),
                     .channels = x.channels,
                     .silu = attribute("silu") != 0,
                     .y = operand("y").output()},
                    stream());
  }

  cudaError_t activate() const {
    const Operand x = operand("x");
    return silu(x.input(), x.elements(), operand("y").output(), stream());
  }

  cudaError_t sum() const {
    const Operand x = operand("x");
    return add(x.input(), operand("residual").input(), x.elements(), operand("y").output(),
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

  const Step& step_;
  const StepContext& context_;
};

}  // namespace

void launch_step(const Step& step, const StepContext& context) {
  check(StepRun(step, context).launch(), step.name);
}

}  // namespace zoetrope::cuda
