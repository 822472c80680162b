// SPDX-License-Identifier: Apache-2.0
// The passes, in the order they run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/target.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

// What a compilation is for. Passes ask the Target before they make an op.
struct PassContext {
  const Target& target;
  DType operands = DType::kFloat32;  // the policy: type of operands and of values between ops
};

struct Pass {
  const char* name;     // of its off switch
  const char* summary;  // one line for people
  // Returns how often it changed the Graph.
  int (*run)(graph::Graph& graph, const PassContext& context);
};

struct PassReport {
  std::string name;
  int changes = 0;
  double seconds = 0;
};

std::span<const Pass> passes();

// Runs one pass and verifies the Graph.
PassReport run_pass(graph::Graph& graph, const Pass& pass, const PassContext& context);

// Runs every pass that is not in `disabled` and verifies the Graph after each. Throws
// kInvalidArgument if `disabled` names no pass.
std::vector<PassReport> run_passes(graph::Graph& graph, const PassContext& context,
                                   const std::vector<std::string>& disabled);

}  // namespace zoetrope::compiler
