// SPDX-License-Identifier: Apache-2.0
// What is known of a GPU without one.
#include "cuda/cuda_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/plan.h"
#include "compiler/lower.h"
#include "compiler/pipeline.h"
#include "cuda/conv_kernels.h"
#include "cuda/kernels/conv3d_mma.h"
#include "tests/cpu/kernel_buffers.h"
#include "tests/support/wan21_graph.h"

namespace zoetrope {
namespace {

using cuda::CudaTarget;
using ::testing::HasSubstr;
using testing::kEntries;
using ::testing::StartsWith;
using testing::wan21_graph;

Plan plan_of(models::Entry entry, DType operands, int64_t base_dim, int capability) {
  const CudaTarget target(capability);
  graph::Graph graph = wan21_graph(entry, base_dim);
  compiler::run_passes(graph, {.target = target, .operands = operands}, {});
  return compiler::lower(graph, target);
}

TEST(CudaTarget, HasAKernelForEveryStepInEveryType) {
  for (const models::Entry entry : kEntries) {
    for (const DType operands : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      for (const int64_t base_dim : {8, 32, 96}) {
        for (const int capability : {80, 89, 90, 120}) {
          const Plan plan = plan_of(entry, operands, base_dim, capability);
          EXPECT_EQ(plan.target, "cuda-sm" + std::to_string(capability));
          for (const Step& step : plan.steps) {
            if (step.op != "conv") continue;
            EXPECT_THAT(step.kernel, StartsWith("conv3d_")) << step.name;
          }
        }
      }
    }
  }
}

TEST(CudaTarget, TakesTheNormIntoItsConv) {
  for (const models::Entry entry : kEntries) {
    for (const Step& step : plan_of(entry, DType::kBFloat16, 96, 80).steps) {
      // The attention's norm follows a block whose last conv has taken another.
      EXPECT_NE(step.op, "silu") << step.name;
      EXPECT_NE(step.op, "add") << step.name;
    }
  }
}

std::string kernel_of(const Plan& plan, const std::string& name) {
  for (const Step& step : plan.steps) {
    if (step.name == name && step.op != "carry") return step.kernel;
  }
  return "no step of that name";
}

TEST(CudaTarget, HasHopperKernelsForPicturesAndAttention) {
  const Plan encode = plan_of(models::Entry::kEncodeNext, DType::kBFloat16, 96, 90);
  EXPECT_EQ(kernel_of(encode, "encoder.conv1"), "conv3d_sm90_pictures_bf16");
  const Plan decode = plan_of(models::Entry::kDecodeNext, DType::kBFloat16, 96, 90);
  EXPECT_EQ(kernel_of(decode, "decoder.head.2"), "conv3d_sm90_bf16");
  EXPECT_EQ(kernel_of(decode, "decoder.middle.1.attention"), "attention_sm90_bf16");
}

TEST(CudaTarget, TakesWindowsOfPicturesAsChannels) {
  const Plan encode = plan_of(models::Entry::kEncodeNext, DType::kBFloat16, 96, 80);
  EXPECT_EQ(kernel_of(encode, "encoder.conv1"), "conv3d_mma_pictures_bf16");
}

TEST(CudaTarget, RefusesANormOverMoreChannelsThanABlockHas) {
  graph::Graph graph = wan21_graph(models::Entry::kEncodeFirst, 96);
  for (graph::Op& op : graph.ops) {
    if (op.kind != graph::OpKind::kConv) continue;
    op.activated = op.y;
    op.gamma = op.bias;
    graph.values[static_cast<size_t>(op.y)].channels = 385;
    EXPECT_THAT(CudaTarget(90).refusal(graph, op), HasSubstr("385"));
    break;
  }
}

TEST(CudaTarget, RefusesOperandsOfDifferentTypes) {
  graph::Graph graph = wan21_graph(models::Entry::kEncodeNext, 8);
  for (const graph::Op& op : graph.ops) {
    if (op.kind != graph::OpKind::kConv || op.history == graph::kNone) continue;
    graph.values[static_cast<size_t>(op.history)].dtype = DType::kFloat16;
    EXPECT_THAT(CudaTarget(90).refusal(graph, op), HasSubstr("different types"));
    break;
  }
}

TEST(ConvLayout, IsReadAsItWasWritten) {
  const cuda::ConvLayout layout = {
      .kernel = "conv3d_mma", .operands = DType::kFloat16, .variant = 96, .parts = 4};
  const cuda::ConvLayout found = cuda::ConvLayout::parse(layout.text());
  EXPECT_EQ(found.text(), "conv3d_mma/float16/96/4");
  EXPECT_EQ(found.parts, 4);
}

TEST(ConvLayout, RefusesOthers) {
  for (const char* text : {"", "plain", "conv3d_mma/float16", "conv3d_mma/tf32/96/4"}) {
    EXPECT_ANY_THROW(cuda::ConvLayout::parse(text)) << text;
  }
}

TEST(Conv3dMmaBlock, HoldsAllChannelsOfANorm) {
  for (int64_t c_out = 1; c_out <= cuda::kConv3dMmaMostNormed; ++c_out) {
    EXPECT_GE(cuda::conv3d_mma_block(c_out, true), c_out);
  }
  EXPECT_EQ(cuda::conv3d_mma_block(384, false), 192);
  EXPECT_EQ(cuda::conv3d_mma_block(1152, false), 192);
}

// Every weight is somewhere, once; the rest is zeros.
TEST(Conv3dMmaPack, KeepsEveryWeightOnce) {
  for (const int64_t block : cuda::kConv3dMmaBlocks) {
    const cuda::Conv3dMmaLayout layout = {DType::kFloat32, block, 2};
    std::vector<float> values(2 * 11 * 19 * 3 * 4);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
    const cuda::Conv3dWeight weight = {
        .values = values.data(), .filters = 22, .c_in = 19, .kernel_time = 3, .plane_taps = 4};
    std::vector<float> packed(
        static_cast<size_t>(cuda::conv3d_mma_packed_bytes(layout, weight) / 4));
    cuda::conv3d_mma_pack(layout, weight, reinterpret_cast<std::byte*>(packed.data()));
    std::ranges::sort(packed);
    const auto zeros = std::ranges::count(packed, 0.0F);
    packed.erase(packed.begin(), packed.begin() + zeros);
    EXPECT_EQ(packed, values) << block;
  }
}

}  // namespace
}  // namespace zoetrope
