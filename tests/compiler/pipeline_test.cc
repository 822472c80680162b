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

int64_t count(const graph::Graph& graph, OpKind kind) {
  return std::ranges::count(graph.ops, kind, &graph::Op::kind);
}

// The published encoder has 1 linear layer after its head, 21 norms with SiLU and one without, and
// 11 blocks with a residual sum; the decoder has no such layer, 29 and 15.
TEST(Pipeline, FusesEveryPlaceThatItCan) {
  const std::map<std::string, std::pair<int, int>> expected = {
      {"fold-linear", {1, 0}}, {"fuse-silu", {21, 29}}, {"fuse-residual", {11, 15}}};
  for (const models::Entry entry : testing::kEntries) {
    const bool encode = entry == models::Entry::kEncodeFirst || entry == models::Entry::kEncodeNext;
    graph::Graph graph = testing::wan21_graph(entry);
    const std::vector<PassReport> reports = run_passes(graph, cpu::CpuTarget(), {});
    ASSERT_EQ(reports.size(), passes().size());
    for (const PassReport& report : reports) {
      const auto& [encoder, decoder] = expected.at(report.name);
      EXPECT_EQ(report.changes, encode ? encoder : decoder) << report.name;
    }
    EXPECT_EQ(count(graph, OpKind::kSilu), 0);
    EXPECT_EQ(count(graph, OpKind::kAdd), 0);
  }
}

TEST(Pipeline, LeavesOutWhatIsDisabled) {
  for (const Pass& pass : passes()) {
    graph::Graph graph = testing::wan21_graph(models::Entry::kEncodeNext);
    const auto reports = run_passes(graph, cpu::CpuTarget(), {pass.name});
    EXPECT_EQ(reports.size(), passes().size() - 1);
    EXPECT_TRUE(std::ranges::none_of(
        reports, [&](const PassReport& report) { return report.name == pass.name; }));
  }
  graph::Graph graph = testing::wan21_graph(models::Entry::kEncodeNext);
  EXPECT_THROW(run_passes(graph, cpu::CpuTarget(), {"no-such-pass"}), Error);
}

// A Target that refuses everything keeps every pass from changing the Graph.
class Refusing : public cpu::CpuTarget {
 public:
  std::string refusal(const graph::Graph&, const graph::Op&) const override { return "no"; }
};

TEST(Pipeline, AsksTheTarget) {
  graph::Graph graph = testing::wan21_graph(models::Entry::kDecodeNext);
  for (const PassReport& report : run_passes(graph, Refusing(), {})) EXPECT_EQ(report.changes, 0);
}

}  // namespace
}  // namespace zoetrope::compiler
