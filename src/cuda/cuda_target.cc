// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "cuda/conv_kernels.h"
#include "cuda/kernels/attention.h"
#include "cuda/kernels/attention_sm90.h"

namespace zoetrope::cuda {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Op;
using graph::OpKind;

bool is_number(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBFloat16;
}

// What a conv kernel is told of an op before there are sizes and memory: pointers that are there
// are not null.
Conv3dArgs args_of(const Graph& graph, const Op& op) {
  static char there = 0;
  const auto data = [&](int32_t id) { return id == kNone ? nullptr : &there; };
  const auto type = [&](int32_t id) {
    return id == kNone ? DType::kFloat32 : graph.value(id).dtype;
  };
  Conv3dArgs args = {.operands = graph.value(op.x).dtype,
                     .residual_type = type(op.residual),
                     .y_type = type(op.y),
                     .activated_type = type(op.activated),
                     .x = data(op.x),
                     .history = data(op.history),
                     .c_in = graph.value(op.x).channels,
                     .kernel_time = op.conv.kernel_time,
                     .kernel_height = op.conv.kernel_height,
                     .kernel_width = op.conv.kernel_width,
                     .first_tap = op.conv.first_tap,
                     .stride_time = op.conv.stride_time,
                     .stride_space = op.conv.stride_space,
                     .pad_before = op.conv.pad_before,
                     .shortcut = data(op.shortcut),
                     .residual = data(op.residual),
                     .silu = op.silu,
                     .store = static_cast<Conv3dStore>(op.store),
                     .y = data(op.y),
                     .activated = data(op.activated),
                     .c_out = graph.value(graph::main_result(op)).channels};
  if (op.activated != kNone) args.gamma = reinterpret_cast<const float*>(&there);
  if (op.shortcut != kNone) args.c_shortcut = graph.value(op.shortcut).channels;
  return args;
}

// The ops whose operands and results are all of one type; others read and write any.
bool is_of_one_type(OpKind kind) {
  return kind == OpKind::kAttention || kind == OpKind::kUpsampleNearest ||
         kind == OpKind::kFrameInterleave || kind == OpKind::kCarry;
}

std::string type_refusal(const Graph& graph, const Op& op) {
  const DType operands = graph.value(op.x).dtype;
  std::vector<graph::ValueId> values = graph::operands_of(op);
  const std::vector<graph::ValueId> results = graph::results_of(op);
  values.insert(values.end(), results.begin(), results.end());
  for (const graph::ValueId id : values) {
    const DType type = graph.value(id).dtype;
    if (!is_number(type)) return fmt::format("a value of {}", name_of(type));
    const bool multiplied = id == op.x || id == op.history || id == op.shortcut;
    if (type != operands && (multiplied || is_of_one_type(op.kind))) {
      return "values of different types";
    }
  }
  return "";
}

// For x and history; the history is counted for every latent frame, though it is there once.
Extent workspace_of(const Graph& graph, const Op& op, int64_t per_pixel) {
  const graph::Value& x = graph.value(op.x);
  const int64_t past = op.history == kNone ? 0 : graph.value(op.history).frames;
  return {.frames = x.frames + past, .stride = x.stride, .channels = per_pixel, .dtype = x.dtype};
}

Choice conv_choice(const Graph& graph, const Op& op, int capability) {
  const Conv3dArgs args = args_of(graph, op);
  Choice choice;
  for (const ConvKernel& kernel : conv_kernels()) {
    const std::string reason = kernel.refusal(args, capability);
    if (!reason.empty()) {
      choice.refused.push_back(fmt::format("{}: {}", kernel.name, reason));
      continue;
    }
    choice.kernel = step_kernel_name(kernel.name, args.operands);
    choice.weight_layout = ConvLayout{.kernel = kernel.name,
                                      .operands = args.operands,
                                      .variant = kernel.layout_variant(args),
                                      .parts = args.parts()}
                               .text();
    choice.in_place = {"residual"};
    if (kernel.workspace_per_pixel != 0) {
      choice.workspace = workspace_of(graph, op, kernel.workspace_per_pixel);
    }
    return choice;
  }
  fail(ErrorCode::kInternal, "{}: no conv kernel: {}", op.name, choice.refused.back());
}

const ConvKernel& kernel_of(const ConvLayout& layout) {
  for (const ConvKernel& kernel : conv_kernels()) {
    if (layout.kernel == kernel.name) return kernel;
  }
  fail(ErrorCode::kInternal, "cuda has no weight layout {}", layout.text());
}

Choice attention_choice(const Graph& graph, const Op& op, int capability) {
  const graph::Value& y = graph.value(op.y);
  std::string reason = sm90_tier_refusal(capability);
  if (reason.empty()) reason = attention_sm90_refusal(y.dtype, y.channels);
  if (reason.empty()) return {.kernel = step_kernel_name("attention_sm90", y.dtype)};
  const Extent extent = {.frames_per_latent = false,
                         .stride = y.stride,
                         .channels = attention_workspace_per_position(y.dtype, y.channels)};
  return {.kernel = step_kernel_name("attention", y.dtype),
          .workspace = extent,
          .workspace_extra_bytes = attention_workspace_fixed(y.dtype, y.channels),
          .refused = {"attention_sm90: " + reason}};
}

}  // namespace

std::string CudaTarget::name() const { return fmt::format("cuda-sm{}", capability_); }

std::string CudaTarget::refusal(const Graph& graph, const Op& op) const {
  std::string reason = type_refusal(graph, op);
  if (!reason.empty() || op.kind != OpKind::kConv) return reason;
  const Conv3dArgs args = args_of(graph, op);
  for (const ConvKernel& kernel : conv_kernels()) {
    reason = kernel.refusal(args, capability_);
    if (reason.empty()) return "";
  }
  return reason;
}

Choice CudaTarget::choose(const Graph& graph, const Op& op) const {
  const std::string reason = refusal(graph, op);
  ZOETROPE_CHECK(reason.empty(), op.name + ": " + reason);
  switch (op.kind) {
    case OpKind::kConv:
      return conv_choice(graph, op, capability_);
    case OpKind::kAttention:
      return attention_choice(graph, op, capability_);
    case OpKind::kRmsNorm:
    case OpKind::kSilu:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x"}};
    case OpKind::kAdd:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x", "residual"}};
    case OpKind::kUpsampleNearest:
    case OpKind::kFrameInterleave:
    case OpKind::kCarry:
      return {.kernel = graph::name_of(op.kind)};
  }
  fail(ErrorCode::kInternal, "{}: no kernel for this kind of op", op.name);
}

int64_t CudaTarget::packed_bytes(const std::string& layout,
                                 const std::vector<int64_t>& shape) const {
  if (layout == kPlainLayout) return plain_bytes(shape);
  ZOETROPE_CHECK(shape.size() == 5, layout);
  const ConvLayout parsed = ConvLayout::parse(layout);
  return kernel_of(parsed).packed_bytes(parsed, shape);
}

std::vector<std::byte> CudaTarget::pack(const std::string& layout,
                                        const std::vector<int64_t>& shape,
                                        const std::vector<float>& values) const {
  if (layout == kPlainLayout) return plain_pack(values);
  ZOETROPE_CHECK(shape.size() == 5, layout);
  const ConvLayout parsed = ConvLayout::parse(layout);
  return kernel_of(parsed).pack(parsed, shape, values.data());
}

}  // namespace zoetrope::cuda
