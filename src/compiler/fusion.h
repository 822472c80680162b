// SPDX-License-Identifier: Apache-2.0
// What passes share that let one op do the work of the op that follows it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "compiler/pipeline.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

// `maker` becomes `fused`, and the op that read its result goes.
struct Fusion {
  graph::Op* maker = nullptr;
  graph::Op fused;
};

// Asks `fusion_of` for each op, makes the fusions that the Target takes, and drops what nothing
// reads any more. Returns how many it made.
int fuse_ops(graph::Graph& graph, const PassContext& context,
             const std::function<std::optional<Fusion>(const graph::Op&)>& fusion_of);

}  // namespace zoetrope::compiler
