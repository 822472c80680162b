// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

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

// Lets the conv that makes `sum` take `other` as its residual.
bool fuse(Graph& graph, const PassContext& context, const Op& add, ValueId sum, ValueId other) {
  Op* conv = graph::maker_for_only_reader(graph, sum);
  const bool free = conv != nullptr && conv->kind == OpKind::kConv &&
                    conv->residual == graph::kNone && conv->activated == graph::kNone;
  if (!free) return false;
  if (!is_made_before(graph, other, static_cast<const Op*>(conv))) return false;
  Op fused = *conv;
  fused.residual = other;
  fused.y = add.y;
  if (!context.target.refusal(graph, fused).empty()) return false;
  *conv = fused;
  return true;
}

}  // namespace

int fuse_residual(Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op add = graph.ops[i];
    if (add.kind != OpKind::kAdd) continue;
    const bool fused = fuse(graph, context, add, add.x, add.residual) ||
                       fuse(graph, context, add, add.residual, add.x);
    if (!fused) continue;
    graph.ops.erase(graph.ops.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
