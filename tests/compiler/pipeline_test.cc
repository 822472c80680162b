// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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
  if (target.conv3d(DType::kBFloat16) == nullptr) {
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
