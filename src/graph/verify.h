// SPDX-License-Identifier: Apache-2.0
// Checks that a Graph is whole and that every shape follows from its op.
#pragma once

#include "graph/graph.h"

namespace zoetrope::graph {

// Throws kInternal, naming the op and what does not hold. Called after building and after each
// pass, so a broken pass is found where it broke.
void verify(const Graph& graph);

}  // namespace zoetrope::graph
