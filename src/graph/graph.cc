// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include "base/fail.h"

namespace zoetrope::graph {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kConv:
      return "conv";
    case OpKind::kRmsNorm:
      return "rms_norm";
    case OpKind::kSilu:
      return "silu";
    case OpKind::kAdd:
      return "add";
    case OpKind::kUpsampleNearest:
      return "upsample_nearest";
    case OpKind::kFrameInterleave:
      return "frame_interleave";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kCarry:
      return "carry";
  }
  fail(ErrorCode::kInternal, "name_of: unknown op kind {}", static_cast<int>(kind));
}

namespace {

std::vector<int32_t> without_none(std::initializer_list<int32_t> ids) {
  std::vector<int32_t> present;
  for (const int32_t id : ids) {
    if (id != kNone) present.push_back(id);
  }
  return present;
}

}  // namespace

std::vector<ValueId> operands_of(const Op& op) {
  return without_none({op.x, op.history, op.residual, op.shortcut});
}

std::vector<ValueId> results_of(const Op& op) {
  return without_none({op.y, op.activated, op.history_out});
}

std::vector<ConstantId> constants_of(const Op& op) {
  return without_none({op.weight, op.bias, op.gamma, op.shortcut_weight});
}

ValueId main_result(const Op& op) { return op.y != kNone ? op.y : op.activated; }

double flops(const Graph& graph, const Op& op, int64_t n, int64_t height, int64_t width) {
  if (main_result(op) == kNone) return 0;
  const Value& x = graph.value(op.x);
  const Value& y = graph.value(main_result(op));
  const auto positions = static_cast<double>((height / y.stride) * (width / y.stride));
  const double pixels = positions * static_cast<double>(y.frames * n);
  const auto c_out = static_cast<double>(y.channels);
  if (op.kind == OpKind::kAttention) return 4 * pixels * positions * c_out;
  if (op.kind != OpKind::kConv) return 0;
  const int64_t extra = op.shortcut == kNone ? 0 : graph.value(op.shortcut).channels;
  const auto depth = static_cast<double>(x.channels * op.conv.taps() + extra);
  return 2 * pixels * c_out * depth;
}

}  // namespace zoetrope::graph
