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

bool is_linear(const Op& op) {
  const ConvShape& conv = op.conv;
  return op.kind == OpKind::kConv && conv.kernel_time == 1 && conv.kernel_height == 1 &&
         conv.kernel_width == 1 && conv.stride_space == 1 && op.store == StoreMap::kPlain &&
         op.residual == kNone && op.shortcut == kNone && op.activated == kNone;
}

int64_t count_readers(const Graph& graph, ValueId id) {
  int64_t readers = 0;
  for (const Op& op : graph.ops) readers += std::ranges::count(operands_of(op), id);
  return readers;
}

Op* maker_for_only_reader(Graph& graph, ValueId id) {
  if (id == graph.output || count_readers(graph, id) != 1) return nullptr;
  const auto maker = std::ranges::find(graph.ops, id, &Op::y);
  return maker == graph.ops.end() ? nullptr : &*maker;
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
    for (const ConstantId id : constants_of(op)) mark(constants, id);
  }
  const std::vector<int32_t> new_values = compact(graph.values, values);
  const std::vector<int32_t> new_constants = compact(graph.constants, constants);
  renumber(graph.input, new_values);
  renumber(graph.output, new_values);
  for (Op& op : graph.ops) {
    for (ValueId* id :
         {&op.x, &op.history, &op.residual, &op.shortcut, &op.y, &op.activated, &op.history_out}) {
      renumber(*id, new_values);
    }
    for (ConstantId* id : {&op.weight, &op.bias, &op.gamma, &op.shortcut_weight}) {
      renumber(*id, new_constants);
    }
  }
}

}  // namespace zoetrope::graph
