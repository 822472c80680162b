// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "compiler/passes.h"

namespace zoetrope::compiler {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpKind;

// A vector over its norm has no element beyond 1, so the gamma of the norm bounds what it gives.
double bound_of_norm(const Graph& graph, const Op& norm) {
  const std::vector<float> gamma = graph.constant(norm.gamma).read();
  double largest = 0;
  for (const float value : gamma) largest = std::max(largest, std::abs(double{value}));
  return largest * std::sqrt(static_cast<double>(gamma.size()));
}

// A bound on |element| of every value that an op reads or makes, or infinity.
std::vector<double> bounds_of(const Graph& graph) {
  std::vector<double> bounds(graph.values.size(), std::numeric_limits<double>::infinity());
  bounds[static_cast<size_t>(graph.input)] = graph.input_bound;
  for (const Op& op : graph.ops) {
    const double x = bounds[static_cast<size_t>(op.x)];
    if (op.history != graph::kNone) bounds[static_cast<size_t>(op.history)] = x;
    if (op.history_out != graph::kNone) bounds[static_cast<size_t>(op.history_out)] = x;
    if (op.y == graph::kNone) continue;
    double& y = bounds[static_cast<size_t>(op.y)];
    if (op.kind == OpKind::kRmsNorm) y = bound_of_norm(graph, op);
    if (op.kind == OpKind::kSilu || op.kind == OpKind::kUpsampleNearest) y = x;
  }
  return bounds;
}

std::vector<DType> types_of(const Graph& graph, DType operands) {
  std::vector<DType> types(graph.values.size(), operands);
  if (operands == DType::kFloat16) {
    constexpr double kLargest = 65504;        // of float16
    constexpr double kRounding = 1 + 0x1p-8;  // float32 sums of up to 1024 squares, and their root
    const std::vector<double> bounds = bounds_of(graph);
    std::ranges::transform(bounds, types.begin(), [](double bound) {
      return bound * kRounding <= kLargest ? DType::kFloat16 : DType::kBFloat16;
    });
  }
  types[static_cast<size_t>(graph.output)] = DType::kFloat32;
  return types;
}

}  // namespace

int assign_types(Graph& graph, const PassContext& context) {
  const std::vector<DType> types = types_of(graph, context.operands);
  int changes = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    changes += graph.values[i].dtype == types[i] ? 0 : 1;
    graph.values[i].dtype = types[i];
  }
  for (const Op& op : graph.ops) {
    const std::string reason = context.target.refusal(graph, op);
    if (reason.empty()) continue;
    fail(ErrorCode::kUnsupported, "{}: {} in {}: {}; use another type", context.target.name(),
         op.name, name_of(context.operands), reason);
  }
  return changes;
}

}  // namespace zoetrope::compiler
