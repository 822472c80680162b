// SPDX-License-Identifier: Apache-2.0
// One function for each pass, each in a file of its name.
#pragma once

#include "backend/target.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

// A 1x1x1 conv over the result of another conv becomes part of that conv's weights.
int fold_linear(graph::Graph& graph, const Target& target);

// SiLU after an RMS norm becomes part of the norm.
int fuse_silu(graph::Graph& graph, const Target& target);

// An addition to the result of a conv becomes part of that conv.
int fuse_residual(graph::Graph& graph, const Target& target);

}  // namespace zoetrope::compiler
