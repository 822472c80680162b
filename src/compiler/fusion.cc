// SPDX-License-Identifier: Apache-2.0
#include "compiler/fusion.h"

#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_ops(graph::Graph& graph, const PassContext& context,
             const std::function<std::optional<Fusion>(const graph::Op&)>& fusion_of) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const std::optional<Fusion> fusion = fusion_of(graph.ops[i]);
    if (!fusion || !context.target.refusal(graph, fusion->fused).empty()) continue;
    *fusion->maker = fusion->fused;
    graph.ops.erase(graph.ops.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
