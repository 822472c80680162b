// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/fusion.h"
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_norm(graph::Graph& graph, const PassContext& context) {
  return fuse_ops(graph, context, [&](const graph::Op& norm) -> std::optional<Fusion> {
    if (norm.kind != graph::OpKind::kRmsNorm) return std::nullopt;
    const auto conv = std::ranges::find(graph.ops, norm.x, &graph::Op::y);
    const bool free = conv != graph.ops.end() && conv->kind == graph::OpKind::kConv &&
                      conv->activated == graph::kNone;
    if (!free) return std::nullopt;
    Fusion fusion = {.maker = &*conv, .fused = *conv};
    fusion.fused.activated = norm.y;
    fusion.fused.gamma = norm.gamma;
    fusion.fused.silu = norm.silu;
    const bool raw_is_read = norm.x == graph.output || graph::count_readers(graph, norm.x) > 1;
    if (!raw_is_read) fusion.fused.y = graph::kNone;
    return fusion;
  });
}

}  // namespace zoetrope::compiler
