// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backend/plan.h"
#include "compiler/lower.h"
#include "compiler/pipeline.h"
#include "cpu/cpu_target.h"
#include "tests/support/wan21_graph.h"
#include "zoetrope/error.h"

namespace zoetrope::compiler {
namespace {

Plan published_plan(models::Entry entry) {
  const cpu::CpuTarget target;
  graph::Graph graph = testing::wan21_graph(entry);
  run_passes(graph, {target}, {});
  return lower(graph, target);
}

TEST(PlanJson, RoundTrips) {
  for (const models::Entry entry : testing::kEntries) {
    const Plan plan = published_plan(entry);
    const std::string json = to_json(plan);
    EXPECT_EQ(plan_from_json(json), plan);
    EXPECT_EQ(to_json(plan_from_json(json)), json);
  }
}

// The error of reading a Plan after `damage` to its JSON.
template <typename Damage>
ErrorCode damaged(const Damage& damage) {
  auto json = nlohmann::json::parse(to_json(published_plan(models::Entry::kDecodeNext)));
  damage(json);
  try {
    plan_from_json(json.dump());
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(PlanJson, RefusesDamage) {
  constexpr ErrorCode kExpected = ErrorCode::kInvalidArgument;
  EXPECT_EQ(damaged([](auto& json) { json.erase("steps"); }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["output"] = 100000; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["input"] = -1; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["steps"][0]["buffers"]["x"] = 9999; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["steps"][0]["constants"]["bias"] = -2; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["buffers"][0]["alignment"] = 3; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["buffers"][0]["dtype"] = "float7"; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["buffers"][0]["kind"] = "attic"; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["buffers"][0]["live"] = {5, 4}; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["buffers"][0]["stride"] = 0; }), kExpected);
  EXPECT_EQ(damaged([](auto& json) { json["segments"][0]["step_count"] = 1 << 20; }), kExpected);
  EXPECT_THROW(plan_from_json("{"), Error);
  EXPECT_THROW(plan_from_json(""), Error);
}

}  // namespace
}  // namespace zoetrope::compiler
