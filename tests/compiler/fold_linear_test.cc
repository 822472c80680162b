// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/passes.h"
#include "cpu/cpu_target.h"
#include "graph/builder.h"
#include "graph/verify.h"

namespace zoetrope::compiler {
namespace {

graph::Constant numbers(const std::string& name, std::vector<int64_t> shape, int seed) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i * 7 + seed))));
  }
  return {.name = name, .shape = std::move(shape), .read = [values] { return values; }};
}

// A conv 5 -> 4 with 1x3x3 taps, then a linear layer 4 -> 3.
graph::Graph conv_then_linear() {
  graph::Builder builder("decode.next");
  const auto conv_weight = builder.constant(numbers("conv.weight", {4, 5, 1, 3, 3}, 1));
  const auto conv_bias = builder.constant(numbers("conv.bias", {4}, 2));
  const auto linear_weight = builder.constant(numbers("linear.weight", {3, 4, 1, 1, 1}, 3));
  const auto linear_bias = builder.constant(numbers("linear.bias", {3}, 4));
  graph::ValueId x = builder.input("x", 1, 1, 5);
  x = builder.conv("conv", x, graph::kNone,
                   {.kernel_height = 3, .kernel_width = 3, .pad_before = 1}, conv_weight,
                   conv_bias);
  x = builder.conv("linear", x, graph::kNone, {}, linear_weight, linear_bias);
  return std::move(builder).finish(x);
}

TEST(FoldLinear, MultipliesTheMatrices) {
  graph::Graph graph = conv_then_linear();
  const graph::Graph before = graph;
  ASSERT_EQ(fold_linear(graph, {cpu::CpuTarget()}), 1);
  graph::verify(graph);
  ASSERT_EQ(graph.ops.size(), 1);
  EXPECT_EQ(graph.value(graph.output).name, "linear");
  const std::vector<float> folded = graph.constant(graph.ops[0].weight).read();
  const std::vector<float> bias = graph.constant(graph.ops[0].bias).read();
  const std::vector<float> conv = before.constants[0].read();
  const std::vector<float> conv_bias = before.constants[1].read();
  const std::vector<float> linear = before.constants[2].read();
  const std::vector<float> linear_bias = before.constants[3].read();
  for (size_t i = 0; i < 3; ++i) {
    double expected_bias = linear_bias[i];
    for (size_t k = 0; k < 4; ++k) expected_bias += double{linear[i * 4 + k]} * conv_bias[k];
    EXPECT_NEAR(bias[i], expected_bias, 1e-6);
    for (size_t j = 0; j < 45; ++j) {
      double expected = 0;
      for (size_t k = 0; k < 4; ++k) expected += double{linear[i * 4 + k]} * conv[k * 45 + j];
      EXPECT_NEAR(folded[i * 45 + j], expected, 1e-6);
    }
  }
}

TEST(FoldLinear, LeavesAValueThatOthersRead) {
  graph::Builder builder("decode.next");
  graph::ValueId x = builder.input("x", 1, 1, 4);
  const auto conv = [&](const std::string& name, graph::ValueId in) {
    const auto weight = builder.constant(numbers(name + ".weight", {4, 4, 1, 1, 1}, 1));
    const auto bias = builder.constant(numbers(name + ".bias", {4}, 2));
    return builder.conv(name, in, graph::kNone, {}, weight, bias);
  };
  const graph::ValueId a = conv("a", x);
  const graph::ValueId sum = builder.add("sum", conv("b", a), a);
  graph::Graph graph = std::move(builder).finish(sum);
  EXPECT_EQ(fold_linear(graph, {cpu::CpuTarget()}), 0);
}

}  // namespace
}  // namespace zoetrope::compiler
