// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/passes.h"
#include "cpu/cpu_target.h"
#include "tests/support/wan21_graph.h"
#include "zoetrope/error.h"

namespace zoetrope::compiler {
namespace {

using graph::OpKind;

// What each pass finds in the published encoder and decoder. The decoder's time convs and their
// interleaving are in `next` alone.
struct Found {
  int encode;
  int decode_first;
  int decode_next;
};

TEST(Pipeline, FusesEveryPlaceThatItCan) {
  const std::map<std::string, Found> expected = {
      {"fold-linear", {1, 0, 0}},      {"fold-upsample", {0, 3, 3}}, {"fuse-interleave", {0, 0, 2}},
      {"fuse-residual", {11, 15, 15}}, {"fuse-shortcut", {2, 1, 1}}, {"fuse-silu", {21, 29, 29}},
      {"fuse-norm", {22, 30, 30}}};
  for (const models::Entry entry : testing::kEntries) {
    graph::Graph graph = testing::wan21_graph(entry);
    for (const PassReport& report : run_passes(graph, {cpu::CpuTarget()}, {})) {
      if (report.name == "assign-types") continue;
      const Found& found = expected.at(report.name);
      const int changes = entry == models::Entry::kDecodeFirst  ? found.decode_first
                          : entry == models::Entry::kDecodeNext ? found.decode_next
                                                                : found.encode;
      EXPECT_EQ(report.changes, changes) << report.name;
    }
    for (const graph::Op& op : graph.ops) {
      const bool expected_kind =
          op.kind == OpKind::kConv || op.kind == OpKind::kAttention || op.kind == OpKind::kCarry;
      EXPECT_TRUE(expected_kind) << op.name << " is left as " << graph::name_of(op.kind);
    }
  }
}

TEST(AssignTypes, LeavesOnlyTheOutputInFloat32) {
  const cpu::CpuTarget target;
  graph::Graph graph = testing::wan21_graph(models::Entry::kDecodeNext);
  run_passes(graph, {target, DType::kFloat32}, {});
  EXPECT_TRUE(std::ranges::all_of(
      graph.values, [](const graph::Value& value) { return value.dtype == DType::kFloat32; }));
  graph = testing::wan21_graph(models::Entry::kDecodeNext);
  if (!target.has(DType::kBFloat16)) {
    EXPECT_THROW(run_passes(graph, {target, DType::kBFloat16}, {}), Error);
    return;
  }
  run_passes(graph, {target, DType::kBFloat16}, {});
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const bool output = static_cast<graph::ValueId>(i) == graph.output;
    EXPECT_EQ(graph.values[i].dtype, output ? DType::kFloat32 : DType::kBFloat16);
  }
}

TEST(AssignTypes, RefusesWhatTheTargetCannotMultiply) {
  graph::Graph graph = testing::wan21_graph(models::Entry::kDecodeNext);
  EXPECT_THROW(run_passes(graph, {cpu::CpuTarget(), DType::kFloat16}, {}), Error);
}

// Takes every type.
class Accepting : public cpu::CpuTarget {
 public:
  std::string refusal(const graph::Graph&, const graph::Op&) const override { return ""; }
};

// The entry's graph after assign_types, the largest gamma of all norms being `gamma`.
graph::Graph with_float16(models::Entry entry, float gamma) {
  graph::Graph graph = testing::wan21_graph(entry);
  for (const graph::Op& op : graph.ops) {
    if (op.kind != OpKind::kRmsNorm) continue;
    graph::Constant& constant = graph.constants[static_cast<size_t>(op.gamma)];
    constant.read = [gamma, channels = constant.shape[0]] {
      std::vector<float> values(static_cast<size_t>(channels), 0.5F);
      values.back() = -gamma;
      return values;
    };
  }
  assign_types(graph, {Accepting(), DType::kFloat16});
  return graph;
}

TEST(AssignTypes, TakesFloat16WhereTheRangeIsProven) {
  for (const models::Entry entry : testing::kEntries) {
    const graph::Graph graph = with_float16(entry, 100);
    for (const graph::Op& op : graph.ops) {
      const DType y = op.y == graph::kNone ? DType::kFloat32 : graph.value(op.y).dtype;
      const bool bounded = op.kind == OpKind::kRmsNorm || op.kind == OpKind::kSilu;
      if (op.y == graph.output) {
        EXPECT_EQ(y, DType::kFloat32);
      } else if (op.y != graph::kNone) {
        EXPECT_EQ(y, bounded ? DType::kFloat16 : DType::kBFloat16) << op.name;
      }
      if (op.history == graph::kNone) continue;
      EXPECT_EQ(graph.value(op.history).dtype, graph.value(op.x).dtype) << op.name;
      if (op.history_out == graph::kNone) continue;
      EXPECT_EQ(graph.value(op.history_out).dtype, graph.value(op.x).dtype) << op.name;
    }
  }
}

TEST(AssignTypes, KnowsTheRangeOfAVideoButNotOfLatents) {
  const graph::Graph encode = with_float16(models::Entry::kEncodeNext, 1);
  EXPECT_EQ(encode.value(encode.input).dtype, DType::kFloat16);
  const graph::Graph decode = with_float16(models::Entry::kDecodeNext, 1);
  EXPECT_EQ(decode.value(decode.input).dtype, DType::kBFloat16);
}

// sqrt(channels) * gamma: with a gamma of 14000, 32 channels are beyond 65504 and 16 are not.
TEST(AssignTypes, LeavesNormsOfLargeGammasInBFloat16) {
  const graph::Graph graph = with_float16(models::Entry::kEncodeNext, 14000);
  for (const graph::Op& op : graph.ops) {
    if (op.kind != OpKind::kRmsNorm) continue;
    const graph::Value& y = graph.value(op.y);
    EXPECT_EQ(y.dtype, y.channels < 32 ? DType::kFloat16 : DType::kBFloat16) << op.name;
  }
}

TEST(Pipeline, LeavesOutWhatIsDisabled) {
  for (const Pass& pass : passes()) {
    graph::Graph graph = testing::wan21_graph(models::Entry::kEncodeNext);
    const auto reports = run_passes(graph, {cpu::CpuTarget()}, {pass.name});
    EXPECT_EQ(reports.size(), passes().size() - 1);
    EXPECT_TRUE(std::ranges::none_of(
        reports, [&](const PassReport& report) { return report.name == pass.name; }));
  }
  graph::Graph graph = testing::wan21_graph(models::Entry::kEncodeNext);
  EXPECT_THROW(run_passes(graph, {cpu::CpuTarget()}, {"no-such-pass"}), Error);
}

// A Target that refuses everything keeps every pass from changing the Graph.
class Refusing : public cpu::CpuTarget {
 public:
  std::string refusal(const graph::Graph&, const graph::Op&) const override { return "no"; }
};

TEST(Pipeline, AsksTheTarget) {
  graph::Graph graph = testing::wan21_graph(models::Entry::kDecodeNext);
  for (const PassReport& report : run_passes(graph, {Refusing()}, {"assign-types"}))
    EXPECT_EQ(report.changes, 0);
}

}  // namespace
}  // namespace zoetrope::compiler
