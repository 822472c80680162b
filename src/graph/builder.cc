// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <utility>

#include "graph/verify.h"

namespace zoetrope::graph {

ValueId Builder::add_value(Value value) {
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

// A result with the shape of x.
ValueId Builder::like(const std::string& name, ValueId x) {
  Value value = graph_.value(x);
  value.name = name;
  value.kind = ValueKind::kResult;
  return add_value(std::move(value));
}

ValueId Builder::history_out(ValueId history) {
  Value value = graph_.value(history);
  value.name += ".out";
  value.kind = ValueKind::kResult;
  return add_value(std::move(value));
}

ValueId Builder::input(std::string name, int64_t frames, int64_t stride, int64_t channels,
                       double bound) {
  graph_.input_bound = bound;
  graph_.input = add_value({.name = std::move(name),
                            .kind = ValueKind::kInput,
                            .frames = frames,
                            .stride = stride,
                            .channels = channels});
  return graph_.input;
}

ValueId Builder::history(std::string name, int64_t frames, ValueId like) {
  Value value = graph_.value(like);
  value.name = std::move(name);
  value.kind = ValueKind::kHistory;
  value.frames = frames;
  return add_value(std::move(value));
}

ConstantId Builder::constant(Constant constant) {
  graph_.constants.push_back(std::move(constant));
  return static_cast<ConstantId>(graph_.constants.size() - 1);
}

ValueId Builder::conv(const std::string& name, ValueId x, ValueId history, const ConvShape& shape,
                      ConstantId weight, ConstantId bias) {
  Op op = {.kind = OpKind::kConv, .name = name, .x = x, .history = history};
  op.weight = weight;
  op.bias = bias;
  op.conv = shape;
  op.y = like(name, x);
  Value& y = graph_.values[static_cast<size_t>(op.y)];
  y.frames /= shape.stride_time;
  y.stride *= shape.stride_space;
  y.channels = graph_.constant(weight).shape[0];
  if (history != kNone) op.history_out = history_out(history);
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::rms_norm(const std::string& name, ValueId x, ConstantId gamma) {
  Op op = {.kind = OpKind::kRmsNorm, .name = name, .x = x};
  op.gamma = gamma;
  op.y = like(name, x);
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::silu(const std::string& name, ValueId x) {
  Op op = {.kind = OpKind::kSilu, .name = name, .x = x};
  op.y = like(name, x);
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::add(const std::string& name, ValueId x, ValueId residual) {
  Op op = {.kind = OpKind::kAdd, .name = name, .x = x};
  op.residual = residual;
  op.y = like(name, x);
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::upsample_nearest(const std::string& name, ValueId x) {
  Op op = {.kind = OpKind::kUpsampleNearest, .name = name, .x = x};
  op.y = like(name, x);
  graph_.values[static_cast<size_t>(op.y)].stride /= 2;
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::frame_interleave(const std::string& name, ValueId x) {
  Op op = {.kind = OpKind::kFrameInterleave, .name = name, .x = x};
  op.y = like(name, x);
  Value& y = graph_.values[static_cast<size_t>(op.y)];
  y.frames *= 2;
  y.channels /= 2;
  graph_.ops.push_back(op);
  return op.y;
}

ValueId Builder::attention(const std::string& name, ValueId qkv) {
  Op op = {.kind = OpKind::kAttention, .name = name, .x = qkv};
  op.y = like(name, qkv);
  graph_.values[static_cast<size_t>(op.y)].channels /= 3;
  graph_.ops.push_back(op);
  return op.y;
}

void Builder::carry(const std::string& name, ValueId x, ValueId history) {
  Op op = {.kind = OpKind::kCarry, .name = name, .x = x, .history = history};
  op.history_out = history_out(history);
  graph_.ops.push_back(op);
}

Graph Builder::finish(ValueId output) && {
  graph_.output = output;
  verify(graph_);
  return std::move(graph_);
}

}  // namespace zoetrope::graph
