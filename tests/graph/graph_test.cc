// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/rewrite.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "zoetrope/error.h"

namespace zoetrope::graph {
namespace {

using ::testing::HasSubstr;

Constant zeros(const std::string& name, std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return {.name = name, .shape = std::move(shape), .read = [count] {
            return std::vector<float>(static_cast<size_t>(count));
          }};
}

constexpr ConvShape kCausal = {
    .kernel_time = 3, .kernel_height = 3, .kernel_width = 3, .pad_before = 1};

// input -> causal conv 3 -> 8 -> norm -> silu -> conv stride 2, 8 -> 4
Graph small_graph() {
  Builder builder("encode.next");
  const ConstantId a_weight = builder.constant(zeros("a.weight", {8, 3, 3, 3, 3}));
  const ConstantId a_bias = builder.constant(zeros("a.bias", {8}));
  const ConstantId gamma = builder.constant(zeros("gamma", {8}));
  const ConstantId b_weight = builder.constant(zeros("b.weight", {4, 8, 1, 3, 3}));
  const ConstantId b_bias = builder.constant(zeros("b.bias", {4}));
  ValueId x = builder.input("video", 4, 1, 3);
  const ValueId history = builder.history("a.history", 2, x);
  x = builder.conv("a", x, history, kCausal, a_weight, a_bias);
  x = builder.silu("silu", builder.rms_norm("norm", x, gamma));
  x = builder.conv("b", x, kNone, {.kernel_height = 3, .kernel_width = 3, .stride_space = 2},
                   b_weight, b_bias);
  return std::move(builder).finish(x);
}

TEST(Builder, DerivesShapes) {
  const Graph graph = small_graph();
  const Value& y = graph.value(graph.output);
  EXPECT_EQ(y.frames, 4);
  EXPECT_EQ(y.stride, 2);
  EXPECT_EQ(y.channels, 4);
}

TEST(Text, ShowsEveryOpWithItsShape) {
  EXPECT_EQ(to_text(small_graph()),
            "graph encode.next\n"
            "  input %video : 4n x H x W x 3 float32\n"
            "  history %a.history : 2 x H x W x 3 float32\n"
            "  %a, %a.history.out = conv(%video, history %a.history, @a.weight [8,3,3,3,3], "
            "@a.bias [8]) {kernel 3x3x3, pad 1} : 4n x H x W x 8 float32\n"
            "  %norm = rms_norm(%a, @gamma [8]) : 4n x H x W x 8 float32\n"
            "  %silu = silu(%norm) : 4n x H x W x 8 float32\n"
            "  %b = conv(%silu, @b.weight [4,8,1,3,3], @b.bias [4]) {kernel 1x3x3, stride 2, "
            "pad 0} : 4n x H/2 x W/2 x 4 float32\n"
            "  output %b\n");
}

// What verify says of a graph after `damage`.
template <typename Damage>
std::string verify_error(const Damage& damage) {
  Graph graph = small_graph();
  damage(graph);
  try {
    verify(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    return error.what();
  }
  return "no error";
}

TEST(Verify, FindsWhatAPassMayBreak) {
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[1].x = g.ops[3].y; }),
              HasSubstr("norm: an operand is not made before it is used"));
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[2].y = g.ops[1].y; }), HasSubstr("made twice"));
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[0].history_out = kNone; }),
              HasSubstr("taken but not given"));
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[0].history = g.ops[0].x; }),
              HasSubstr("no history"));
  EXPECT_THAT(verify_error([](Graph& g) { g.constants[0].shape[1] = 4; }),
              HasSubstr("the weight has another shape"));
  EXPECT_THAT(verify_error([](Graph& g) { g.values[1].frames = 1; }), HasSubstr("history_out"));
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[0].conv.first_tap = 3; }), HasSubstr("first_tap"));
  EXPECT_THAT(verify_error([](Graph& g) { g.ops[3].residual = g.input; }),
              HasSubstr("residual and y differ"));
  EXPECT_THAT(verify_error([](Graph& g) { g.values.back().name = "norm"; }),
              HasSubstr("two values named norm"));
  EXPECT_THAT(verify_error([](Graph& g) { g.output = kNone; }), HasSubstr("output"));
  EXPECT_EQ(verify_error([](Graph&) {}), "no error");
}

TEST(MakerForOnlyReader, IsNullForSharedValues) {
  Graph graph = small_graph();
  EXPECT_EQ(maker_for_only_reader(graph, graph.ops[0].y), graph.ops.data());
  EXPECT_EQ(maker_for_only_reader(graph, graph.output), nullptr);
  EXPECT_EQ(maker_for_only_reader(graph, graph.input), nullptr);
  graph.ops[2].residual = graph.ops[0].y;
  EXPECT_EQ(maker_for_only_reader(graph, graph.ops[0].y), nullptr);
}

TEST(RemoveUnused, KeepsTheRestWhole) {
  Graph graph = small_graph();
  graph.values.insert(graph.values.begin() + 1, Value{.name = "unused", .channels = 1});
  graph.constants.insert(graph.constants.begin(), zeros("unused", {1}));
  for (Op& op : graph.ops) {
    for (ValueId* id : {&op.x, &op.history, &op.y, &op.history_out}) *id += *id >= 1 ? 1 : 0;
    for (ConstantId* id : {&op.weight, &op.bias, &op.gamma}) *id += *id >= 0 ? 1 : 0;
  }
  ++graph.output;
  remove_unused(graph);
  verify(graph);
  EXPECT_EQ(to_text(graph), to_text(small_graph()));
}

// 4 n frames of H x W pixels, 8 x 3 channels and 27 taps, a product and a sum each.
TEST(Flops, CountsProductsAndSums) {
  const Graph graph = small_graph();
  EXPECT_EQ(flops(graph, graph.ops[0], 2, 16, 24), 2.0 * 8 * 16 * 24 * 8 * 3 * 27);
  EXPECT_EQ(flops(graph, graph.ops[3], 1, 16, 24), 2.0 * 4 * 8 * 12 * 4 * 8 * 9);
}

}  // namespace
}  // namespace zoetrope::graph
