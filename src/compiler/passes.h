// SPDX-License-Identifier: Apache-2.0
// One function for each pass, each in a file of its name. All return how often they changed the
// Graph.
#pragma once

#include "compiler/pipeline.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

// A 1x1x1 conv over the result of another conv becomes part of that conv's weights.
int fold_linear(graph::Graph& graph, const PassContext& context);

// Nearest upsampling followed by a 3x3 conv becomes four 2x2 convs over the small input, whose
// weights are sums of the large one's: 4/9 of the arithmetic, and no upsampled value.
int fold_upsample(graph::Graph& graph, const PassContext& context);

// Every value but the output gets the operands' type of the policy; sums, norms and the output
// stay float32. float16, whose range is small, goes where the weights prove that it holds all
// values (after an RMS norm, and the video itself), and bfloat16 elsewhere. Throws kUnsupported if
// the Target cannot compute in those types.
int assign_types(graph::Graph& graph, const PassContext& context);

// Interleaving a conv's channels into frames becomes the conv's store map.
int fuse_interleave(graph::Graph& graph, const PassContext& context);

// An addition to the result of a conv becomes part of that conv.
int fuse_residual(graph::Graph& graph, const PassContext& context);

// A residual that a 1x1x1 conv makes becomes more terms of the sum that it is added to.
int fuse_shortcut(graph::Graph& graph, const PassContext& context);

// SiLU after an RMS norm becomes part of the norm.
int fuse_silu(graph::Graph& graph, const PassContext& context);

// An RMS norm of a conv's result becomes a second result of the conv.
int fuse_norm(graph::Graph& graph, const PassContext& context);

}  // namespace zoetrope::compiler
