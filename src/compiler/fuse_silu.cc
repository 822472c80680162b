// SPDX-License-Identifier: Apache-2.0
#include "compiler/fusion.h"
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_silu(graph::Graph& graph, const PassContext& context) {
  return fuse_ops(graph, context, [&](const graph::Op& silu) -> std::optional<Fusion> {
    if (silu.kind != graph::OpKind::kSilu) return std::nullopt;
    graph::Op* norm = graph::maker_for_only_reader(graph, silu.x);
    if (norm == nullptr || norm->kind != graph::OpKind::kRmsNorm || norm->silu) return std::nullopt;
    Fusion fusion = {.maker = norm, .fused = *norm};
    fusion.fused.silu = true;
    fusion.fused.y = silu.y;
    return fusion;
  });
}

}  // namespace zoetrope::compiler
