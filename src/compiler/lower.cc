// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower.h"

#include <algorithm>
#include <map>
#include <utility>

namespace zoetrope::compiler {
namespace {

using graph::ConstantId;
using graph::Graph;
using graph::kNone;
using graph::Op;
using graph::OpKind;
using graph::ValueId;
using graph::ValueKind;

class Lowering {
 public:
  Lowering(const Graph& graph, const Target& target)
      : graph_(graph),
        target_(target),
        buffer_of_(graph.values.size(), kNone),
        last_reader_(graph.values.size(), kNone) {}

  Plan run() && {
    plan_.entry = graph_.name;
    plan_.target = target_.name();
    find_last_readers();
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].kind != ValueKind::kResult) new_buffer(static_cast<ValueId>(i));
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) lower_op(static_cast<int32_t>(i));
    plan_.input = buffer_of(graph_.input);
    plan_.output = buffer_of(graph_.output);
    plan_.buffers[static_cast<size_t>(plan_.output)].kind = BufferKind::kOutput;
    set_live_ranges();
    add_segments();
    return std::move(plan_);
  }

 private:
  void find_last_readers() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      for (const ValueId id : graph::operands_of(graph_.ops[i])) {
        last_reader_[static_cast<size_t>(id)] = static_cast<int32_t>(i);
      }
    }
  }

  int32_t buffer_of(ValueId id) const { return buffer_of_[static_cast<size_t>(id)]; }

  int32_t add_buffer(Buffer buffer) {
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(plan_.buffers.size() - 1);
  }

  int32_t new_buffer(ValueId id) {
    const graph::Value& value = graph_.value(id);
    const bool history = value.kind == ValueKind::kHistory;
    const BufferKind kind = history                           ? BufferKind::kState
                            : value.kind == ValueKind::kInput ? BufferKind::kInput
                                                              : BufferKind::kArena;
    buffer_of_[static_cast<size_t>(id)] = add_buffer({.name = value.name,
                                                      .kind = kind,
                                                      .extent = {.frames = value.frames,
                                                                 .frames_per_latent = !history,
                                                                 .stride = value.stride,
                                                                 .channels = value.channels,
                                                                 .dtype = value.dtype}});
    return buffer_of(id);
  }

  // The buffer of the main result: that of an operand which ends here, if the kernel may overwrite
  // it.
  int32_t result_buffer(const Op& op, int32_t index, const Choice& choice) {
    const ValueId result = graph::main_result(op);
    for (const std::string& role : choice.in_place) {
      const ValueId operand = role == "residual" ? op.residual : op.x;
      if (operand == kNone || last_reader_[static_cast<size_t>(operand)] != index) continue;
      if (operand == graph_.output || is_read_twice(op, operand)) continue;
      const int32_t buffer = buffer_of(operand);
      const bool arena = plan_.buffers[static_cast<size_t>(buffer)].kind == BufferKind::kArena;
      if (!arena || !same_size(operand, result)) continue;
      buffer_of_[static_cast<size_t>(result)] = buffer;
      return buffer;
    }
    return new_buffer(result);
  }

  static bool is_read_twice(const Op& op, ValueId operand) {
    return std::ranges::count(graph::operands_of(op), operand) > 1;
  }

  bool same_size(ValueId a, ValueId b) const {
    const graph::Value& left = graph_.value(a);
    const graph::Value& right = graph_.value(b);
    return left.frames == right.frames && left.stride == right.stride &&
           left.channels == right.channels && left.dtype == right.dtype;
  }

  int32_t constant(ConstantId id, const std::string& layout) {
    const graph::Constant& constant = graph_.constant(id);
    plan_.constants.push_back({.name = constant.name,
                               .layout = layout,
                               .bytes = target_.packed_bytes(layout, constant.shape)});
    return static_cast<int32_t>(plan_.constants.size() - 1);
  }

  void lower_op(int32_t index) {
    const Op& op = graph_.ops[static_cast<size_t>(index)];
    if (op.kind != OpKind::kCarry) lower_computation(op, index);
    if (op.history_out == kNone) return;
    // The history's new content replaces the old one, after its only reader.
    buffer_of_[static_cast<size_t>(op.history_out)] = buffer_of(op.history);
    Step carry = {
        .name = graph_.value(op.history).name, .op = name_of(OpKind::kCarry), .kernel = "carry"};
    carry.buffers = {{"x", buffer_of(op.x)}, {"history", buffer_of(op.history)}};
    plan_.steps.push_back(std::move(carry));
  }

  void lower_computation(const Op& op, int32_t index) {
    const Choice choice = target_.choose(graph_, op);
    Step step = {.name = graph_.value(graph::main_result(op)).name,
                 .op = name_of(op.kind),
                 .kernel = choice.kernel,
                 .attributes = attributes(op),
                 .refused = choice.refused};
    for (const auto& [role, id] : {std::pair{"x", op.x},
                                   {"history", op.history},
                                   {"residual", op.residual},
                                   {"shortcut", op.shortcut}}) {
      if (id != kNone) step.buffers[role] = buffer_of(id);
    }
    step.buffers[op.y != kNone ? "y" : "activated"] = result_buffer(op, index, choice);
    if (op.y != kNone && op.activated != kNone) {
      step.buffers["activated"] = new_buffer(op.activated);
    }
    if (choice.workspace) {
      step.buffers["workspace"] = add_buffer({.name = step.name + ".workspace",
                                              .extent = *choice.workspace,
                                              .extra_bytes = choice.workspace_extra_bytes});
    }
    add_constants(op, choice, step);
    plan_.steps.push_back(std::move(step));
  }

  void add_constants(const Op& op, const Choice& choice, Step& step) {
    if (op.weight != kNone) step.constants["weight"] = constant(op.weight, choice.weight_layout);
    if (op.shortcut_weight != kNone) {
      step.constants["shortcut_weight"] = constant(op.shortcut_weight, choice.weight_layout);
    }
    if (op.bias != kNone) step.constants["bias"] = constant(op.bias, Target::kPlainLayout);
    if (op.gamma != kNone) step.constants["gamma"] = constant(op.gamma, Target::kPlainLayout);
  }

  static std::map<std::string, int64_t> attributes(const Op& op) {
    if (op.kind == OpKind::kRmsNorm) return {{"silu", op.silu ? 1 : 0}};
    if (op.kind != OpKind::kConv) return {};
    const graph::ConvShape& conv = op.conv;
    return {{"kernel_time", conv.kernel_time},
            {"kernel_height", conv.kernel_height},
            {"kernel_width", conv.kernel_width},
            {"first_tap", conv.first_tap},
            {"stride_time", conv.stride_time},
            {"stride_space", conv.stride_space},
            {"pad_before", conv.pad_before},
            {"store", static_cast<int64_t>(op.store)},
            {"silu", op.silu ? 1 : 0}};
  }

  // From the first step that names a buffer to the last; the input is there before, the output
  // stays after.
  void set_live_ranges() {
    const auto last = static_cast<int32_t>(plan_.steps.size()) - 1;
    for (Buffer& buffer : plan_.buffers) buffer.first_step = last;
    for (int32_t i = 0; i <= last; ++i) {
      for (const auto& [role, index] : plan_.steps[static_cast<size_t>(i)].buffers) {
        Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
        buffer.first_step = std::min(buffer.first_step, i);
        buffer.last_step = i;
      }
    }
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kState) {
        buffer.first_step = 0;
      }
      if (buffer.kind == BufferKind::kOutput || buffer.kind == BufferKind::kState) {
        buffer.last_step = last;
      }
    }
  }

  // How far the step looks around an output pixel, in video pixels.
  int64_t reach_of(const Step& step) const {
    if (step.op != name_of(OpKind::kConv)) return 0;
    const int64_t before = step.attributes.at("pad_before");
    const int64_t after = step.attributes.at("kernel_width") - 1 - before;
    const int32_t x = step.buffers.at("x");
    return std::max(before, after) * plan_.buffers[static_cast<size_t>(x)].extent.stride;
  }

  void add_segments() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      const bool whole_frame = step.op == name_of(OpKind::kAttention);
      const bool joins =
          !plan_.segments.empty() && !whole_frame && plan_.segments.back().reach == Reach::kLocal;
      if (!joins) {
        plan_.segments.push_back({.first_step = static_cast<int32_t>(i),
                                  .reach = whole_frame ? Reach::kFrame : Reach::kLocal});
      }
      Segment& segment = plan_.segments.back();
      ++segment.step_count;
      if (!whole_frame) segment.halo += reach_of(step);
    }
  }

  const Graph& graph_;
  const Target& target_;
  std::vector<int32_t> buffer_of_;    // by value; kNone: not made yet
  std::vector<int32_t> last_reader_;  // by value: index of the op
  Plan plan_;
};

}  // namespace

Plan lower(const Graph& graph, const Target& target) { return Lowering(graph, target).run(); }

}  // namespace zoetrope::compiler
