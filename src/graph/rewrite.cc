// SPDX-License-Identifier: Apache-2.0
#include "graph/rewrite.h"

#include <algorithm>
#include <utility>

namespace zoetrope::graph {
namespace {

// Moves the marked items to the front and returns old index -> new index.
template <typename Item>
std::vector<int32_t> compact(std::vector<Item>& items, const std::vector<bool>& used) {
  std::vector<int32_t> renumbered(items.size(), kNone);
  size_t next = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<int32_t>(next);
    if (next != i) items[next] = std::move(items[i]);
    ++next;
  }
  items.resize(next);
  return renumbered;
}

void renumber(int32_t& id, const std::vector<int32_t>& renumbered) {
  if (id != kNone) id = renumbered[static_cast<size_t>(id)];
}

}  // namespace

Op* maker_for_only_reader(Graph& graph, ValueId id) {
  if (id == graph.output) return nullptr;
  int64_t readers = 0;
  Op* maker = nullptr;
  for (Op& op : graph.ops) {
    readers += std::ranges::count(operands_of(op), id);
    if (op.y == id) maker = &op;
  }
  return readers == 1 ? maker : nullptr;
}

void remove_unused(Graph& graph) {
  std::vector<bool> values(graph.values.size(), false);
  std::vector<bool> constants(graph.constants.size(), false);
  const auto mark = [](std::vector<bool>& used, int32_t id) {
    if (id != kNone) used[static_cast<size_t>(id)] = true;
  };
  for (const int32_t id : {graph.input, graph.output}) mark(values, id);
  for (const Op& op : graph.ops) {
    for (const ValueId id : operands_of(op)) mark(values, id);
    for (const ValueId id : results_of(op)) mark(values, id);
    for (const ConstantId id : {op.weight, op.bias, op.gamma}) mark(constants, id);
  }
  const std::vector<int32_t> new_values = compact(graph.values, values);
  const std::vector<int32_t> new_constants = compact(graph.constants, constants);
  renumber(graph.input, new_values);
  renumber(graph.output, new_values);
  for (Op& op : graph.ops) {
    for (ValueId* id : {&op.x, &op.history, &op.residual, &op.y, &op.history_out}) {
      renumber(*id, new_values);
    }
    for (ConstantId* id : {&op.weight, &op.bias, &op.gamma}) renumber(*id, new_constants);
  }
}

}  // namespace zoetrope::graph
