// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_norm(graph::Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const graph::Op norm = graph.ops[i];
    if (norm.kind != graph::OpKind::kRmsNorm) continue;
    const auto conv = std::ranges::find(graph.ops, norm.x, &graph::Op::y);
    const bool free = conv != graph.ops.end() && conv->kind == graph::OpKind::kConv &&
                      conv->activated == graph::kNone;
    if (!free) continue;
    graph::Op fused = *conv;
    fused.activated = norm.y;
    fused.gamma = norm.gamma;
    fused.silu = norm.silu;
    const bool raw_is_read = norm.x == graph.output || graph::count_readers(graph, norm.x) > 1;
    if (!raw_is_read) fused.y = graph::kNone;
    if (!context.target.refusal(graph, fused).empty()) continue;
    *conv = fused;
    graph.ops.erase(graph.ops.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
