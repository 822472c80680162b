// SPDX-License-Identifier: Apache-2.0
// What inspect is told of Graphs and Plans is what streams do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "cpu/cpu_target.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWeights = "random:8";
const LoadOptions kCpu = {.device = "cpu"};

TEST(DescribePlan, NeedsWhatAStreamNeeds) {
  const Autoencoder model = Autoencoder::load(kWeights, {.device = "cpu", .encoder = false});
  const PlanDescription plan = describe_plan(
      kWeights, {.entry = "decode.next", .height = 48, .width = 32, .frames = 9}, kCpu);
  const StreamOptions size = {.height = 48, .width = 32, .frames_per_step = 1};
  const MemoryNeeded needed = model.memory_needed_decode(size);
  EXPECT_EQ(plan.memory.weights, needed.weights);
  EXPECT_EQ(plan.memory.state, needed.state);
  EXPECT_EQ(plan.memory.arena, needed.arena);
  EXPECT_EQ(plan.memory.staging, needed.staging);
  EXPECT_EQ(plan.memory.scratch, needed.scratch);
  EXPECT_DOUBLE_EQ(plan.video_published_flops, model.arithmetic_decode(size, 9));
}

TEST(DescribePlan, CountsFramesThatAnEncoderHoldsBack) {
  const Autoencoder model = Autoencoder::load(kWeights, {.device = "cpu", .decoder = false});
  const PlanDescription plan = describe_plan(
      kWeights, {.entry = "encode.first", .height = 16, .width = 16, .latent_frames = 2}, kCpu);
  const StreamOptions size = {.height = 16, .width = 16, .frames_per_step = 2};
  EXPECT_EQ(plan.memory.total(), model.memory_needed_encode(size).total());
  EXPECT_EQ(plan.latent_frames, 1);  // of "first"
}

// The steps that an observer sees, and their arithmetic.
TEST(DescribePlan, ListsTheStepsThatRun) {
  const Autoencoder model = Autoencoder::load(kWeights, {.device = "cpu", .encoder = false});
  std::vector<std::string> kernels;
  double flops = 0;
  StreamOptions options = {.height = 16, .width = 16, .frames_per_step = 1};
  options.observer = [&](const StepEvent& event) {
    if (event.entry != "decode.next" || event.op.starts_with("copy")) return;
    kernels.emplace_back(std::string(event.name) + " " + std::string(event.kernel));
    flops += event.flops;
  };
  std::vector<float> latents(16 * 2 * 2 * 2);
  std::vector<uint8_t> video(5 * 16 * 16 * 3);
  DecodeStream stream = model.open_decode(options);
  stream.push({.data = latents.data(), .shape = {16, 2, 2, 2}},
              {.data = video.data(), .dtype = DType::kUInt8, .shape = {5, 16, 16, 3}});
  const PlanDescription plan = describe_plan(kWeights, {.height = 16, .width = 16}, kCpu);
  std::vector<std::string> described;
  for (const StepDescription& step : plan.steps) described.push_back(step.name + " " + step.kernel);
  EXPECT_EQ(described, kernels);
  EXPECT_DOUBLE_EQ(plan.flops, flops);
}

TEST(DescribePlan, HoldsTogether) {
  for (const cpu::CpuTarget& target : cpu::cpu_targets()) {
    for (const char* entry : {"encode.first", "encode.next", "decode.first", "decode.next"}) {
      const PlanDescription plan =
          describe_plan(kWeights, {.entry = entry}, {.target = target.name()});
      EXPECT_EQ(plan.entry, entry);
      EXPECT_EQ(plan.target, target.name());
      int64_t steps = 0;
      for (const SegmentDescription& segment : plan.segments) {
        EXPECT_EQ(segment.first_step, steps);
        steps += segment.steps;
      }
      EXPECT_EQ(steps, std::ssize(plan.steps));
      for (int64_t i = 0; i < steps; ++i) {
        for (const auto& [role, index] : plan.steps[static_cast<size_t>(i)].buffers) {
          const BufferDescription& buffer = plan.buffers.at(static_cast<size_t>(index));
          EXPECT_LE(buffer.first_step, i) << role;
          EXPECT_GE(buffer.last_step, i) << role;
        }
      }
    }
  }
}

TEST(DescribePlan, OfAModuleHasItsFingerprint) {
  const ScratchFolder folder;
  const std::string path = folder.path("model.zoe");
  write_module(kWeights, path, {.target = "cpu-avx2", .disabled_passes = {"fuse-norm"}});
  const PlanDescription plan = describe_plan(path, {.entry = "encode.next"});
  EXPECT_EQ(plan.target, "cpu-avx2");
  EXPECT_EQ(plan.fingerprint, describe(path).module->plans.at("encode.next"));
  EXPECT_NE(plan.fingerprint,
            describe_plan(kWeights, {.entry = "encode.next"}, {.target = "cpu-avx2"}).fingerprint);
  EXPECT_TRUE(describe_graphs(path, "encode.next").back().disabled);
}

TEST(DescribePlan, RefusesWhatTheModelDoesNotTake) {
  const auto refused = [](const PlanRequest& request) {
    return refusal(ErrorCode::kInvalidArgument, [&] { describe_plan(kWeights, request, kCpu); });
  };
  EXPECT_THAT(refused({.entry = "decode"}), HasSubstr("found decode"));
  EXPECT_THAT(refused({.height = 12}), HasSubstr("multiples of 8"));
  EXPECT_THAT(refused({.frames = 3}), HasSubstr("4k + 1"));
  EXPECT_THAT(refused({.frames = -3}), HasSubstr("4k + 1"));
  EXPECT_THAT(refused({.latent_frames = 0}), HasSubstr("latent frames"));
  EXPECT_THAT(refused({.latent_frames = 4097}), HasSubstr("latent frames"));
}

TEST(DescribeGraphs, ShowsEveryPass) {
  const std::vector<GraphDescription> graphs = describe_graphs(
      kWeights, "decode.next", {.target = "cpu-avx2", .disabled_passes = {"fuse-silu"}});
  ASSERT_EQ(graphs.size(), compiler::passes().size() + 1);
  EXPECT_EQ(graphs[0].pass, "");
  for (size_t i = 1; i < graphs.size(); ++i) {
    EXPECT_EQ(graphs[i].pass, compiler::passes()[i - 1].name);
    EXPECT_EQ(graphs[i].disabled, graphs[i].pass == "fuse-silu");
    EXPECT_EQ(graphs[i].changes == 0, graphs[i].text == graphs[i - 1].text) << graphs[i].pass;
    EXPECT_LE(graphs[i].ops, graphs[i - 1].ops);
  }
  EXPECT_THAT(graphs[0].text, HasSubstr("upsample_nearest"));
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument, [] { describe_graphs(kWeights, "all"); }),
              HasSubstr("decode.next"));
}

}  // namespace
}  // namespace zoetrope::testing
