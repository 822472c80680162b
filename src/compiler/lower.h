// SPDX-License-Identifier: Apache-2.0
// Graph -> Plan: a kernel for each op, a buffer for each value.
#pragma once

#include "backend/plan.h"
#include "backend/target.h"
#include "graph/graph.h"

namespace zoetrope::compiler {

Plan lower(const graph::Graph& graph, const Target& target);

}  // namespace zoetrope::compiler
