// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_steps.h"

#include <string>

#include "base/fail.h"

namespace zoetrope::cpu {
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
};

class StepRun {
 public:
  StepRun(const Step& step, const StepContext& context) : step_(step), context_(context) {}

  void run() const {
    if (step_.op == "conv") return conv3d();
    if (step_.op == "attention") return attention();
    if (step_.op == "rms_norm") return rms_norm();
    if (step_.op == "silu") return silu();
    if (step_.op == "add") return add();
    if (step_.op == "upsample_nearest") return upsample();
    if (step_.op == "frame_interleave") return interleave();
    if (step_.op == "carry") return carry_history();
    fail(ErrorCode::kInternal, "{}: the plan names op {}, which {} does not have", step_.name,
         step_.op, context_.target.name());
  }

 private:
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

  // The row that the Plan names. A Plan for another target has none here.
  template <typename Row>
  const Row& row(const Row* found) const {
    if (found == nullptr || step_.kernel != found->name) {
      fail(ErrorCode::kInternal, "{}: the plan names kernel {}, which {} does not have", step_.name,
           step_.kernel, context_.target.name());
    }
    return *found;
  }

  void conv3d() const {
    const Operand x = operand("x");
    const Operand y = operand("y");
    const Operand activated = operand("activated");
    const Operand shortcut = operand("shortcut");
    const Operand& out = y.data != nullptr ? y : activated;
    const Conv3dArgs args = {.x = x.data,
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
                             .residual = operand("residual").data,
                             .gamma = constant("gamma"),
                             .silu = attribute("silu") != 0,
                             .store = static_cast<Conv3dStore>(attribute("store")),
                             .y = y.data,
                             .activated = activated.data,
                             .y_float32 = y.dtype == DType::kFloat32,
                             .out_height = out.height,
                             .out_width = out.width,
                             .c_out = out.channels};
    row(context_.target.conv3d(step_.kernel)).run(args, context_.pool, context_.control);
  }

  void attention() const {
    const Operand y = operand("y");
    const AttentionArgs args = {.qkv = operand("x").data,
                                .frames = y.frames,
                                .positions = y.pixels(),
                                .channels = y.channels,
                                .workspace = static_cast<float*>(operand("workspace").data),
                                .y = y.data};
    row(context_.target.attention(y.dtype)).run(args, context_.pool, context_.control);
  }

  void rms_norm() const {
    const Operand x = operand("x");
    context_.target.pointwise(x.dtype)->rms_norm(
        x.data, constant("gamma"), x.frames * x.pixels(), x.channels, attribute("silu") != 0,
        operand("y").data, context_.pool, context_.control);
  }

  void silu() const {
    const Operand x = operand("x");
    context_.target.pointwise(x.dtype)->silu(x.data, x.elements(), operand("y").data, context_.pool,
                                             context_.control);
  }

  void add() const {
    const Operand x = operand("x");
    context_.target.pointwise(x.dtype)->add(x.data, operand("residual").data, x.elements(),
                                            operand("y").data, context_.pool, context_.control);
  }

  void upsample() const {
    const Operand x = operand("x");
    upsample_nearest(x.data, x.frames, x.height, x.width, x.pixel_bytes(), operand("y").data,
                     context_.pool, context_.control);
  }

  void interleave() const {
    const Operand x = operand("x");
    const Operand y = operand("y");
    frame_interleave(x.data, x.frames, x.pixels(), y.pixel_bytes(), y.data, context_.pool,
                     context_.control);
  }

  void carry_history() const {
    const Operand x = operand("x");
    const Operand history = operand("history");
    if (history.data == nullptr) return;  // images in a batch have no next frame
    carry(x.data, x.frames, x.pixels() * x.pixel_bytes(), history.frames, history.data);
  }

  const Step& step_;
  const StepContext& context_;
};

}  // namespace

void run_step(const Step& step, const StepContext& context) { StepRun(step, context).run(); }

}  // namespace zoetrope::cpu
