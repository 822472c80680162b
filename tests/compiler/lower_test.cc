// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/pipeline.h"
#include "cpu/cpu_target.h"
#include "tests/support/wan21_graph.h"

namespace zoetrope::compiler {
namespace {

Plan plan_of(models::Entry entry) {
  const cpu::CpuTarget target;
  graph::Graph graph = testing::wan21_graph(entry);
  run_passes(graph, {target}, {});
  return lower(graph, target);
}

// 3x3 convs of float32 take 16 products for 36, or 64 for 216 where frames come in pairs; what else
// there is says why not.
TEST(CpuTarget, TakesWinogradWhereItCan) {
  const cpu::CpuTarget target;
  const graph::Graph graph = testing::wan21_graph(models::Entry::kEncodeNext);
  int taken = 0, in_pairs = 0, refused = 0;
  for (const graph::Op& op : graph.ops) {
    if (op.kind != graph::OpKind::kConv) continue;
    const Choice choice = target.choose(graph, op);
    const bool fits =
        op.conv.kernel_height == 3 && op.conv.stride_space == 1 && graph.value(op.x).channels >= 8;
    const bool pairs = fits && op.conv.kernel_time == 3 && graph.value(op.x).frames % 2 == 0;
    EXPECT_EQ(choice.kernel.find("winograd") != std::string::npos, fits) << op.name;
    EXPECT_EQ(choice.kernel.find("winograd3d") != std::string::npos, pairs) << op.name;
    EXPECT_EQ(choice.refused.empty(), pairs) << op.name;
    ++(pairs ? in_pairs : fits ? taken : refused);
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(in_pairs, 0);
  EXPECT_GT(refused, 0);
}

TEST(Lower, PutsAttentionIntoASegmentOfItsOwn) {
  for (const models::Entry entry : testing::kEntries) {
    const Plan plan = plan_of(entry);
    ASSERT_EQ(plan.segments.size(), 3);
    EXPECT_EQ(plan.segments[0].reach, Reach::kLocal);
    EXPECT_EQ(plan.segments[1].reach, Reach::kFrame);
    EXPECT_EQ(plan.segments[1].step_count, 1);
    EXPECT_EQ(plan.segments[2].reach, Reach::kLocal);
    int32_t next = 0;
    for (const Segment& segment : plan.segments) {
      EXPECT_EQ(segment.first_step, next);
      next += segment.step_count;
    }
    EXPECT_EQ(next, static_cast<int32_t>(plan.steps.size()));
  }
}

// Before the attention, the encoder looks this far: 3x3 convs at each stride (5 + 4 + 4 + 4 + 2,
// the downsampling ones one pixel more, to the right).
TEST(Lower, KnowsTheReachOfALocalSegment) {
  const Plan plan = plan_of(models::Entry::kEncodeNext);
  const int64_t stride1 = 5 * 1 + 2;  // conv1, two blocks, downsample
  const int64_t stride2 = (4 * 1 + 2) * 2;
  const int64_t stride4 = (4 * 1 + 2) * 4;
  const int64_t stride8 = (4 + 2) * 8;  // two blocks, middle.0
  EXPECT_EQ(plan.segments[0].halo, stride1 + stride2 + stride4 + stride8);
}

TEST(Lower, CarriesEachHistoryOnceAfterItsReader) {
  for (const models::Entry entry : testing::kEntries) {
    const Plan plan = plan_of(entry);
    std::set<int32_t> carried;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      if (!step.buffers.contains("history")) continue;
      const int32_t history = step.buffers.at("history");
      EXPECT_EQ(plan.buffers[static_cast<size_t>(history)].kind, BufferKind::kState);
      if (step.op == "carry") {
        EXPECT_TRUE(carried.insert(history).second) << step.name;
      } else {
        EXPECT_FALSE(carried.contains(history)) << step.name;
        EXPECT_EQ(plan.steps[i + 1].op, "carry") << step.name;
      }
    }
    const auto states = std::ranges::count(plan.buffers, BufferKind::kState, &Buffer::kind);
    EXPECT_EQ(static_cast<int64_t>(carried.size()), states);
  }
}

// `first` and `next` keep the same histories, except that the decoder's time convs, which do not
// see frame 0, are only in `next`.
TEST(Lower, NamesHistoriesAlikeInBothEntries) {
  const auto histories = [](const Plan& plan) {
    std::set<std::string> names;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.kind == BufferKind::kState) names.insert(buffer.name);
    }
    return names;
  };
  EXPECT_EQ(histories(plan_of(models::Entry::kEncodeFirst)),
            histories(plan_of(models::Entry::kEncodeNext)));
  std::set<std::string> next = histories(plan_of(models::Entry::kDecodeNext));
  EXPECT_EQ(next.erase("decoder.upsamples.3.time_conv.history"), 1);
  EXPECT_EQ(next.erase("decoder.upsamples.7.time_conv.history"), 1);
  EXPECT_EQ(histories(plan_of(models::Entry::kDecodeFirst)), next);
}

TEST(Lower, SharesPackedWeightsBetweenEntries) {
  std::set<std::pair<std::string, std::string>> next;
  for (const PackedConstant& constant : plan_of(models::Entry::kEncodeNext).constants) {
    next.emplace(constant.name, constant.layout);
  }
  for (const PackedConstant& constant : plan_of(models::Entry::kEncodeFirst).constants) {
    EXPECT_TRUE(next.contains({constant.name, constant.layout})) << constant.name;
  }
}

}  // namespace
}  // namespace zoetrope::compiler
