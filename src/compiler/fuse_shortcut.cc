// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {
namespace {

using graph::Constant;
using graph::Graph;
using graph::Op;

// Both convs' biases are added to the same sum.
Constant bias_sum(const Constant& a, const Constant& b) {
  return {.name = a.name + "+" + b.name, .shape = a.shape, .read = [a, b] {
            std::vector<float> sum = a.read();
            const std::vector<float> added = b.read();
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
            return sum;
          }};
}

}  // namespace

int fuse_shortcut(Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& conv = graph.ops[i];
    if (conv.kind != graph::OpKind::kConv || conv.residual == graph::kNone) continue;
    const Op* linear = graph::maker_for_only_reader(graph, conv.residual);
    if (linear == nullptr || !graph::is_linear(*linear)) continue;
    Op fused = conv;
    fused.residual = graph::kNone;
    fused.shortcut = linear->x;
    fused.shortcut_weight = linear->weight;
    graph.constants.push_back(bias_sum(graph.constant(conv.bias), graph.constant(linear->bias)));
    fused.bias = static_cast<graph::ConstantId>(graph.constants.size() - 1);
    if (!context.target.refusal(graph, fused).empty()) continue;
    graph.ops[i] = fused;
    graph.ops.erase(graph.ops.begin() + (linear - graph.ops.data()));
    --i;
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
