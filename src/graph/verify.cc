// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <set>

#include "base/fail.h"

namespace zoetrope::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_values();
    for (const Op& op : graph_.ops) check_op(op);
    expect(graph_.output != kNone && defined_.contains(graph_.output), "the output is not made");
  }

 private:
  void expect(bool holds, const std::string& what) const {
    if (holds) return;
    fail(ErrorCode::kInternal, "internal error, please report it: graph {}{}{}: {}", graph_.name,
         op_ == nullptr ? "" : ": ", op_ == nullptr ? "" : op_->name, what);
  }

  void check_values() {
    std::set<std::string> names;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      expect(names.insert(value.name).second, "two values named " + value.name);
      expect(value.frames > 0 && value.stride > 0 && value.channels > 0,
             value.name + " has an empty shape");
      if (value.kind != ValueKind::kResult) defined_.insert(static_cast<ValueId>(i));
    }
    for (const Constant& constant : graph_.constants) {
      expect(names.insert("@" + constant.name).second, "two constants named " + constant.name);
    }
    expect(graph_.input != kNone && graph_.value(graph_.input).kind == ValueKind::kInput,
           "there is no input");
  }

  void check_op(const Op& op) {
    op_ = &op;
    for (const ValueId id : operands_of(op)) {
      expect(in_range(id) && defined_.contains(id), "an operand is not made before it is used");
    }
    for (const ValueId id : results_of(op)) {
      expect(in_range(id) && defined_.insert(id).second, "a result is made twice");
    }
    expect(op.x != kNone, "x is missing");
    if (op.history != kNone || op.history_out != kNone) check_history(op);
    check_shape(op);
    op_ = nullptr;
  }

  bool in_range(ValueId id) const {
    return id >= 0 && static_cast<size_t>(id) < graph_.values.size();
  }

  void check_history(const Op& op) {
    expect(op.history != kNone && op.history_out != kNone, "a history is taken but not given");
    const Value& history = graph_.value(op.history);
    const Value& x = graph_.value(op.x);
    expect(history.kind == ValueKind::kHistory, "the history operand is no history");
    expect(carried_.insert(op.history).second, "a history has two readers");
    expect(history.stride == x.stride && history.channels == x.channels,
           "history and x differ in shape");
    const Value& out = graph_.value(op.history_out);
    expect(out.frames == history.frames && same_plane(out, history),
           "history_out has another shape");
  }

  static bool same_plane(const Value& a, const Value& b) {
    return a.stride == b.stride && a.channels == b.channels;
  }

  static bool same_shape(const Value& a, const Value& b) {
    return a.frames == b.frames && same_plane(a, b);
  }

  void check_shape(const Op& op) const {
    if (op.kind == OpKind::kCarry) {
      return expect(main_result(op) == kNone, "carry makes a value");
    }
    expect(main_result(op) != kNone, "there is no result");
    expect(op.kind == OpKind::kConv || op.activated == kNone, "only convs make activated values");
    const Value& x = graph_.value(op.x);
    const Value& y = graph_.value(main_result(op));
    if (op.residual != kNone) {
      expect(same_shape(graph_.value(op.residual), y), "residual and y differ in shape");
    }
    switch (op.kind) {
      case OpKind::kConv:
        return check_conv(op, x, y);
      case OpKind::kRmsNorm:
        check_gamma(op, y);
        [[fallthrough]];
      case OpKind::kSilu:
        return expect(same_shape(x, y), "x and y differ in shape");
      case OpKind::kAdd:
        expect(op.residual != kNone, "residual is missing");
        return expect(same_shape(x, y), "x and y differ in shape");
      case OpKind::kUpsampleNearest:
        return expect(y.frames == x.frames && y.stride * 2 == x.stride && y.channels == x.channels,
                      "y is not twice as large as x");
      case OpKind::kFrameInterleave:
        return expect(
            y.frames == 2 * x.frames && y.stride == x.stride && 2 * y.channels == x.channels,
            "y has not twice the frames and half the channels of x");
      case OpKind::kAttention:
        return expect(y.frames == x.frames && y.stride == x.stride && 3 * y.channels == x.channels,
                      "x does not hold q, k and v");
      case OpKind::kCarry:
        return;
    }
  }

  void check_gamma(const Op& op, const Value& y) const {
    expect(op.gamma != kNone && graph_.constant(op.gamma).shape == std::vector{y.channels},
           "gamma does not have one number for each channel");
  }

  void check_conv(const Op& op, const Value& x, const Value& y) const {
    const ConvShape& conv = op.conv;
    expect(op.weight != kNone && op.bias != kNone, "weight or bias is missing");
    const bool interleave = op.store == StoreMap::kFrameInterleave;
    const bool phases = op.store == StoreMap::kUpsamplePhases;
    const int64_t c_out = interleave ? 2 * y.channels : y.channels;
    const std::vector<int64_t> expected = {phases ? 4 * c_out : c_out, x.channels, conv.kernel_time,
                                           conv.kernel_height, conv.kernel_width};
    expect(graph_.constant(op.weight).shape == expected, "the weight has another shape");
    expect(graph_.constant(op.bias).shape == std::vector{c_out}, "the bias has another shape");
    expect(y.frames * conv.stride_time == x.frames * (interleave ? 2 : 1) &&
               y.stride * (phases ? 2 : 1) == x.stride * conv.stride_space,
           "strides do not lead from x to y");
    expect(conv.first_tap >= 0 && conv.first_tap < conv.kernel_time, "first_tap is out of range");
    check_fused(op, y);
    if (conv.history_frames() == 0) return expect(op.history == kNone, "a history without use");
    expect(op.history != kNone && graph_.value(op.history).frames == conv.history_frames(),
           "the history does not hold what the taps reach back to");
  }

  void check_fused(const Op& op, const Value& y) const {
    if (op.activated != kNone) {
      check_gamma(op, y);
      expect(same_shape(graph_.value(op.activated), y), "y and activated differ in shape");
    }
    expect((op.shortcut == kNone) == (op.shortcut_weight == kNone),
           "a shortcut without weight, or a weight without shortcut");
    if (op.shortcut == kNone) return;
    const Value& shortcut = graph_.value(op.shortcut);
    expect(shortcut.frames == y.frames && shortcut.stride == y.stride,
           "shortcut and y differ in frames or size");
    expect(graph_.constant(op.shortcut_weight).shape ==
               std::vector<int64_t>{y.channels, shortcut.channels, 1, 1, 1},
           "the shortcut's weight has another shape");
  }

  const Graph& graph_;
  const Op* op_ = nullptr;
  std::set<ValueId> defined_;
  std::set<ValueId> carried_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace zoetrope::graph
