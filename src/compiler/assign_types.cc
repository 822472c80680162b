// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"
#include "compiler/passes.h"

namespace zoetrope::compiler {

int assign_types(graph::Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    graph::Value& value = graph.values[i];
    if (static_cast<graph::ValueId>(i) == graph.output || value.dtype == context.operands) continue;
    value.dtype = context.operands;
    ++changes;
  }
  for (const graph::Op& op : graph.ops) {
    const std::string reason = context.target.refusal(graph, op);
    if (reason.empty()) continue;
    fail(ErrorCode::kUnsupported, "{}: {} in {}: {}; use another type", context.target.name(),
         op.name, name_of(context.operands), reason);
  }
  return changes;
}

}  // namespace zoetrope::compiler
