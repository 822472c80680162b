// SPDX-License-Identifier: Apache-2.0
#include "graph/text.h"

#include <fmt/format.h>

#include "base/shape.h"

namespace zoetrope::graph {
namespace {

// "4n x H/2 x W/2 x 96 float32"; histories have a fixed number of frames.
std::string shape_text(const Value& value, bool per_latent) {
  const std::string frames = !per_latent         ? std::to_string(value.frames)
                             : value.frames == 1 ? "n"
                                                 : fmt::format("{}n", value.frames);
  const std::string scale = value.stride == 1 ? "" : fmt::format("/{}", value.stride);
  return fmt::format("{} x H{} x W{} x {} {}", frames, scale, scale, value.channels,
                     name_of(value.dtype));
}

std::string attributes_text(const Op& op) {
  if (op.kind == OpKind::kRmsNorm) return op.silu ? " {silu}" : "";
  if (op.kind != OpKind::kConv) return "";
  const ConvShape& conv = op.conv;
  std::string text =
      fmt::format(" {{kernel {}x{}x{}", conv.kernel_time, conv.kernel_height, conv.kernel_width);
  if (conv.first_tap != 0) text += fmt::format(", first tap {}", conv.first_tap);
  if (conv.stride_time != 1) text += fmt::format(", time stride {}", conv.stride_time);
  if (conv.stride_space != 1) text += fmt::format(", stride {}", conv.stride_space);
  text += fmt::format(", pad {}", conv.pad_before);
  if (op.store == StoreMap::kFrameInterleave) text += ", interleave frames";
  if (op.store == StoreMap::kUpsamplePhases) text += ", upsample phases";
  if (op.activated != kNone) text += op.silu ? ", norm, silu" : ", norm";
  return text + "}";
}

std::string op_text(const Graph& graph, const Op& op) {
  std::string arguments = "%" + graph.value(op.x).name;
  if (op.history != kNone) arguments += ", history %" + graph.value(op.history).name;
  if (op.residual != kNone) arguments += ", residual %" + graph.value(op.residual).name;
  if (op.shortcut != kNone) arguments += ", shortcut %" + graph.value(op.shortcut).name;
  for (const ConstantId id : constants_of(op)) {
    const Constant& constant = graph.constant(id);
    arguments += fmt::format(", @{} {}", constant.name, to_string(constant.shape));
  }
  const std::string call =
      fmt::format("{}({}){}", name_of(op.kind), arguments, attributes_text(op));
  std::string results;
  for (const ValueId id : results_of(op)) {
    results += fmt::format("{}%{}", results.empty() ? "" : ", ", graph.value(id).name);
  }
  const ValueId main = main_result(op);
  const std::string shape =
      main == kNone ? "" : fmt::format(" : {}", shape_text(graph.value(main), true));
  return fmt::format("  {} = {}{}\n", results, call, shape);
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (const Value& value : graph.values) {
    if (value.kind == ValueKind::kResult) continue;
    const bool is_input = value.kind == ValueKind::kInput;
    text += fmt::format("  {} %{} : {}\n", is_input ? "input" : "history", value.name,
                        shape_text(value, is_input));
  }
  for (const Op& op : graph.ops) text += op_text(graph, op);
  return text + fmt::format("  output %{}\n", graph.value(graph.output).name);
}

}  // namespace zoetrope::graph
