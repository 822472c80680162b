// SPDX-License-Identifier: Apache-2.0
// A Graph as text for people: one line for each value that an op makes.
#pragma once

#include <string>

#include "graph/graph.h"

namespace zoetrope::graph {

std::string to_text(const Graph& graph);

}  // namespace zoetrope::graph
