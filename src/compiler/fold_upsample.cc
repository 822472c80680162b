// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>
#include <vector>

#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {
namespace {

using graph::Constant;
using graph::Graph;
using graph::Op;
using graph::OpKind;

bool is_plain_3x3(const Op& op) {
  const graph::ConvShape& conv = op.conv;
  return op.kind == OpKind::kConv && op.store == graph::StoreMap::kPlain && conv.kernel_time == 1 &&
         conv.kernel_height == 3 && conv.kernel_width == 3 && conv.stride_space == 1 &&
         conv.pad_before == 1;
}

// Taps of the 3-tap conv over twice repeated pixels that fall on tap t of the 2-tap conv of output
// phase p: the even output sees {0}, {1, 2}, the odd one {0, 1}, {2}.
std::pair<size_t, size_t> taps_under(size_t phase, size_t tap) {
  if (phase == 0)
    return tap == 0 ? std::pair<size_t, size_t>{0, 1} : std::pair<size_t, size_t>{1, 3};
  return tap == 0 ? std::pair<size_t, size_t>{0, 2} : std::pair<size_t, size_t>{2, 3};
}

float sum_under(const float* taps, const std::array<size_t, 2>& phase,
                const std::array<size_t, 2>& tap) {
  const auto [row_begin, row_end] = taps_under(phase[0], tap[0]);
  const auto [column_begin, column_end] = taps_under(phase[1], tap[1]);
  double sum = 0;
  for (size_t row = row_begin; row < row_end; ++row) {
    for (size_t column = column_begin; column < column_end; ++column) sum += taps[row * 3 + column];
  }
  return static_cast<float>(sum);
}

// (c_out, c_in, 1, 3, 3) -> (4 c_out, c_in, 1, 2, 2), phase by phase.
std::vector<float> phase_weights(const std::vector<float>& weight) {
  const size_t filters = weight.size() / 9;
  std::vector<float> phases;
  phases.reserve(16 * filters);
  for (size_t phase = 0; phase < 4; ++phase) {
    for (size_t filter = 0; filter < filters; ++filter) {
      for (size_t tap = 0; tap < 4; ++tap) {
        phases.push_back(
            sum_under(&weight[filter * 9], {phase / 2, phase % 2}, {tap / 2, tap % 2}));
      }
    }
  }
  return phases;
}

Constant phase_constant(const Constant& weight) {
  return {.name = weight.name + ".phases",
          .shape = {4 * weight.shape[0], weight.shape[1], 1, 2, 2},
          .read = [weight] { return phase_weights(weight.read()); }};
}

}  // namespace

int fold_upsample(Graph& graph, const PassContext& context) {
  int changes = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!is_plain_3x3(graph.ops[i])) continue;
    Op* upsample = graph::maker_for_only_reader(graph, graph.ops[i].x);
    if (upsample == nullptr || upsample->kind != OpKind::kUpsampleNearest) continue;
    Op phases = graph.ops[i];
    phases.x = upsample->x;
    phases.conv.kernel_height = 2;
    phases.conv.kernel_width = 2;
    phases.store = graph::StoreMap::kUpsamplePhases;
    graph.constants.push_back(phase_constant(graph.constant(phases.weight)));
    phases.weight = static_cast<graph::ConstantId>(graph.constants.size() - 1);
    if (!context.target.refusal(graph, phases).empty()) continue;
    graph.ops[i] = phases;
    graph.ops.erase(graph.ops.begin() + (upsample - graph.ops.data()));
    --i;
    ++changes;
  }
  graph::remove_unused(graph);
  return changes;
}

}  // namespace zoetrope::compiler
