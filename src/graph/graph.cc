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

std::vector<ValueId> operands_of(const Op& op) {
  std::vector<ValueId> operands;
  for (const ValueId id : {op.x, op.history, op.residual}) {
    if (id != kNone) operands.push_back(id);
  }
  return operands;
}

std::vector<ValueId> results_of(const Op& op) {
  std::vector<ValueId> results;
  for (const ValueId id : {op.y, op.history_out}) {
    if (id != kNone) results.push_back(id);
  }
  return results;
}

double flops(const Graph& graph, const Op& op, int64_t n, int64_t height, int64_t width) {
  if (op.y == kNone) return 0;
  const Value& x = graph.value(op.x);
  const Value& y = graph.value(op.y);
  const auto positions = static_cast<double>((height / y.stride) * (width / y.stride));
  const double pixels = positions * static_cast<double>(y.frames * n);
  const auto c_in = static_cast<double>(x.channels);
  const auto c_out = static_cast<double>(y.channels);
  if (op.kind == OpKind::kConv) {
    return 2 * pixels * c_out * c_in * static_cast<double>(op.conv.taps_read());
  }
  if (op.kind == OpKind::kAttention) return 4 * pixels * positions * c_out;
  return 0;
}

}  // namespace zoetrope::graph
