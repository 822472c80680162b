// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_steps.h"

#include "backend/step_operands.h"
#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

class StepRun : StepOperands {
 public:
  StepRun(const Step& step, const StepContext& context)
      : StepOperands(context.plan, step, context.launch), context_(context) {}

  void run() const {
    if (step().op == "conv") return conv3d();
    if (step().op == "attention") return attention();
    if (step().op == "rms_norm") return rms_norm();
    if (step().op == "silu") return silu();
    if (step().op == "add") return add();
    if (step().op == "upsample_nearest") return upsample();
    if (step().op == "frame_interleave") return interleave();
    if (step().op == "carry") return carry_history();
    fail(ErrorCode::kInternal, "{}: the plan names op {}, which {} does not have", step().name,
         step().op, context_.target.name());
  }

 private:
  // The row that the Plan names. A Plan for another target has none here.
  template <typename Row>
  const Row& row(const Row* found) const {
    if (found == nullptr || step().kernel != found->name) {
      fail(ErrorCode::kInternal, "{}: the plan names kernel {}, which {} does not have",
           step().name, step().kernel, context_.target.name());
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
                             .c_out = out.channels,
                             .scratch = reinterpret_cast<float*>(context_.launch.scratch)};
    row(context_.target.conv3d(step().kernel)).run(args, context_.pool, context_.control);
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

  const StepContext& context_;
};

}  // namespace

void run_step(const Step& step, const StepContext& context) { StepRun(step, context).run(); }

}  // namespace zoetrope::cpu
