// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_interleave(graph::Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const graph::Op interleave = graph.ops[i];
    if (interleave.kind != graph::OpKind::kFrameInterleave) continue;
    graph::Op* conv = graph::maker_for_only_reader(graph, interleave.x);
    const bool plain = conv != nullptr && conv->kind == graph::OpKind::kConv &&
                       conv->store == graph::StoreMap::kPlain && conv->residual == graph::kNone;
    if (!plain) continue;
    graph::Op fused = *conv;
    fused.store = graph::StoreMap::kFrameInterleave;
    fused.y = interleave.y;
    if (!context.target.refusal(graph, fused).empty()) continue;
    *conv = fused;
    graph.ops.erase(graph.ops.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
