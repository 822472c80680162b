// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "compiler/fusion.h"
#include "compiler/passes.h"
#include "graph/rewrite.h"

namespace zoetrope::compiler {
namespace {

using graph::Constant;
using graph::Graph;
using graph::Op;

// A conv whose result goes nowhere else and is changed by nothing but its bias.
bool is_bare(const Op* conv) {
  return conv != nullptr && conv->kind == graph::OpKind::kConv &&
         conv->store == graph::StoreMap::kPlain && conv->residual == graph::kNone &&
         conv->shortcut == graph::kNone && conv->activated == graph::kNone;
}

// product[i][j] = sum over k of left[i][k] * right[k][j], summed in double.
std::vector<float> multiply(const std::vector<float>& left, const std::vector<float>& right,
                            size_t inner) {
  const size_t rows = left.size() / inner;
  const size_t columns = right.size() / inner;
  std::vector<float> product(rows * columns);
  std::vector<double> row(columns);
  for (size_t i = 0; i < rows; ++i) {
    row.assign(columns, 0);
    for (size_t k = 0; k < inner; ++k) {
      const double factor = left[i * inner + k];
      for (size_t j = 0; j < columns; ++j) row[j] += factor * right[k * columns + j];
    }
    for (size_t j = 0; j < columns; ++j) product[i * columns + j] = static_cast<float>(row[j]);
  }
  return product;
}

// Applying `linear` after `conv`: its matrix times the conv's weight, seen as (c_out, the rest).
Constant folded_weight(const Constant& linear, const Constant& conv) {
  std::vector<int64_t> shape = conv.shape;
  shape[0] = linear.shape[0];
  const auto inner = static_cast<size_t>(linear.shape[1]);
  return {.name = linear.name + "*" + conv.name,
          .shape = std::move(shape),
          .read = [linear, conv, inner] { return multiply(linear.read(), conv.read(), inner); }};
}

Constant folded_bias(const Constant& linear, const Constant& linear_bias, const Constant& bias) {
  const auto inner = static_cast<size_t>(linear.shape[1]);
  return {.name = linear.name + "*" + bias.name,
          .shape = linear_bias.shape,
          .read = [linear, linear_bias, bias, inner] {
            std::vector<float> sum = multiply(linear.read(), bias.read(), inner);
            const std::vector<float> added = linear_bias.read();
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
            return sum;
          }};
}

graph::ConstantId add_constant(Graph& graph, Constant constant) {
  graph.constants.push_back(std::move(constant));
  return static_cast<graph::ConstantId>(graph.constants.size() - 1);
}

}  // namespace

int fold_linear(Graph& graph, const PassContext& context) {
  return fuse_ops(graph, context, [&](const Op& linear) -> std::optional<Fusion> {
    if (!graph::is_linear(linear)) return std::nullopt;
    Op* conv = graph::maker_for_only_reader(graph, linear.x);
    if (!is_bare(conv)) return std::nullopt;
    Fusion fusion = {.maker = conv, .fused = *conv};
    fusion.fused.name = linear.name;
    fusion.fused.y = linear.y;
    const Constant& matrix = graph.constant(linear.weight);
    const Constant weight = folded_weight(matrix, graph.constant(conv->weight));
    const Constant bias =
        folded_bias(matrix, graph.constant(linear.bias), graph.constant(conv->bias));
    fusion.fused.weight = add_constant(graph, weight);
    fusion.fused.bias = add_constant(graph, bias);
    return fusion;
  });
}

}  // namespace zoetrope::compiler
