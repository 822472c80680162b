// SPDX-License-Identifier: Apache-2.0
// What passes need to change a Graph.
#pragma once

#include "graph/graph.h"

namespace zoetrope::graph {

// The op that makes `id`, if `id` is read exactly once and is not the Graph's output: then whatever
// reads it may take the maker's place. Otherwise null.
Op* maker_for_only_reader(Graph& graph, ValueId id);

// True for a 1x1x1 conv that does nothing else: a matrix applied to every pixel.
bool is_linear(const Op& op);

// How many operands of ops `id` is.
int64_t count_readers(const Graph& graph, ValueId id);

// Drops values and constants that no op names any more, and renumbers the rest.
void remove_unused(Graph& graph);

}  // namespace zoetrope::graph
