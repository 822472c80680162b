// SPDX-License-Identifier: Apache-2.0
#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

#include "compiler/lower.h"
#include "compiler/pipeline.h"
#include "cpu/cpu_target.h"
#include "tests/support/wan21_graph.h"
#include "zoetrope/error.h"

namespace zoetrope::compiler {
namespace {

Buffer arena(const std::string& name, int64_t channels, int32_t first, int32_t last) {
  return {.name = name,
          .kind = BufferKind::kArena,
          .extent = {.channels = channels},
          .first_step = first,
          .last_step = last};
}

TEST(MemoryPlan, SharesMemoryBetweenLifetimes) {
  Plan plan;
  plan.buffers = {arena("a", 64, 0, 1), arena("b", 64, 1, 2), arena("c", 64, 2, 3)};
  const MemoryLayout layout = memory_plan(plan, 1, 8, 8);
  const int64_t size = 64 * 8 * 8 * 4;
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]);
  EXPECT_EQ(layout.arena_bytes, 2 * size);
}

// Every Plan, at awkward sizes: buffers that live together never overlap, all are aligned, and the
// arena is at most a tenth larger than the most that ever lives at once.
TEST(MemoryPlan, NeverOverlapsLiveBuffersAndWastesLittle) {
  const cpu::CpuTarget target;
  for (const models::Entry entry : testing::kEntries) {
    graph::Graph graph = testing::wan21_graph(entry);
    run_passes(graph, {target}, {});
    const Plan plan = lower(graph, target);
    for (const auto& [n, height, width] :
         {std::array<int64_t, 3>{1, 8, 8}, {1, 72, 40}, {3, 256, 256}, {2, 8, 1024}}) {
      const MemoryLayout layout = memory_plan(plan, n, height, width);
      int64_t most = 0;
      for (size_t step = 0; step < plan.steps.size(); ++step) {
        int64_t live = 0;
        for (const Buffer& buffer : plan.buffers) {
          const bool here = buffer.first_step <= static_cast<int32_t>(step) &&
                            static_cast<int32_t>(step) <= buffer.last_step;
          if (here && buffer.kind != BufferKind::kState) live += buffer.bytes(n, height, width);
        }
        most = std::max(most, live);
      }
      EXPECT_LE(layout.arena_bytes, most + most / 10) << plan.entry;
      for (size_t i = 0; i < plan.buffers.size(); ++i) {
        EXPECT_EQ(layout.offsets[i] % plan.buffers[i].alignment, 0);
        for (size_t j = 0; j < i; ++j) {
          const Buffer& a = plan.buffers[i];
          const Buffer& b = plan.buffers[j];
          const bool both_state = a.kind == BufferKind::kState && b.kind == BufferKind::kState;
          const bool both_arena = a.kind != BufferKind::kState && b.kind != BufferKind::kState;
          const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
          if (!both_state && !(both_arena && together)) continue;
          EXPECT_TRUE(layout.offsets[i] + a.bytes(n, height, width) <= layout.offsets[j] ||
                      layout.offsets[j] + b.bytes(n, height, width) <= layout.offsets[i])
              << a.name << " and " << b.name;
        }
      }
    }
  }
}

TEST(MemoryPlan, RefusesSizesThatOverflow) {
  Plan plan;
  plan.buffers = {arena("a", 96, 0, 0)};
  EXPECT_THROW(memory_plan(plan, int64_t{1} << 40, int64_t{1} << 20, int64_t{1} << 20), Error);
}

}  // namespace
}  // namespace zoetrope::compiler
