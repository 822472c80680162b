// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "compiler/fusion.h"
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpKind;
using graph::ValueId;

// True if `id` is there before `op` runs.
bool is_made_before(const Graph& graph, ValueId id, const Op* op) {
  if (graph.value(id).kind != graph::ValueKind::kResult) return true;
  return std::any_of(graph.ops.data(), op,
                     [&](const Op& earlier) { return earlier.y == id || earlier.activated == id; });
}

// The conv that makes `sum` takes `other` as its residual.
std::optional<Fusion> into_maker(Graph& graph, const Op& add, ValueId sum, ValueId other) {
  Op* conv = graph::maker_for_only_reader(graph, sum);
  const bool free = conv != nullptr && conv->kind == OpKind::kConv &&
                    conv->residual == graph::kNone && conv->activated == graph::kNone;
  if (!free || !is_made_before(graph, other, conv)) return std::nullopt;
  Fusion fusion = {.maker = conv, .fused = *conv};
  fusion.fused.residual = other;
  fusion.fused.y = add.y;
  return fusion;
}

}  // namespace

int fuse_residual(Graph& graph, const PassContext& context) {
  return fuse_ops(graph, context, [&](const Op& add) -> std::optional<Fusion> {
    if (add.kind != OpKind::kAdd) return std::nullopt;
    const std::optional<Fusion> fusion = into_maker(graph, add, add.x, add.residual);
    return fusion ? fusion : into_maker(graph, add, add.residual, add.x);
  });
}

}  // namespace zoetrope::compiler
