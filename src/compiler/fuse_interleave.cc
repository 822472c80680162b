// SPDX-License-Identifier: Apache-2.0
#include "compiler/fusion.h"
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {

int fuse_interleave(graph::Graph& graph, const PassContext& context) {
  return fuse_ops(graph, context, [&](const graph::Op& interleave) -> std::optional<Fusion> {
    if (interleave.kind != graph::OpKind::kFrameInterleave) return std::nullopt;
    graph::Op* conv = graph::maker_for_only_reader(graph, interleave.x);
    const bool plain = conv != nullptr && conv->kind == graph::OpKind::kConv &&
                       conv->store == graph::StoreMap::kPlain && conv->residual == graph::kNone;
    if (!plain) return std::nullopt;
    Fusion fusion = {.maker = conv, .fused = *conv};
    fusion.fused.store = graph::StoreMap::kFrameInterleave;
    fusion.fused.y = interleave.y;
    return fusion;
  });
}

}  // namespace zoetrope::compiler
