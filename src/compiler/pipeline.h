// SPDX-License-Identifier: Apache-2.0
// The passes, in the order they run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/target.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

struct Pass {
  const char* name;     // of its off switch
  const char* summary;  // one line for people
  // Returns how often it changed the Graph. Asks the Target before it makes an op.
  int (*run)(graph::Graph& graph, const Target& target);
};

struct PassReport {
  std::string name;
  int changes = 0;
  double seconds = 0;
};

std::span<const Pass> passes();

// Runs every pass that is not in `disabled` and verifies the Graph after each. Throws
// kInvalidArgument if `disabled` names no pass.
std::vector<PassReport> run_passes(graph::Graph& graph, const Target& target,
                                   const std::vector<std::string>& disabled);

}  // namespace zoetrope::compiler
