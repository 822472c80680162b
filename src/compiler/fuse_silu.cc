// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_silu(graph::Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const graph::Op silu = graph.ops[i];
    if (silu.kind != graph::OpKind::kSilu) continue;
    graph::Op* norm = graph::maker_for_only_reader(graph, silu.x);
    if (norm == nullptr || norm->kind != graph::OpKind::kRmsNorm || norm->silu) continue;
    graph::Op fused = *norm;
    fused.silu = true;
    fused.y = silu.y;
    if (!context.target.refusal(graph, fused).empty()) continue;
    *norm = fused;
    graph.ops.erase(graph.ops.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
