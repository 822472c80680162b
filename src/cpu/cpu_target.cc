// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_target.h"

#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>

#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

template <typename Row>
const Row* row_for(std::span<const Row> rows, int64_t instruction_set) {
  if (instruction_set == 0) return rows.data();
  const auto found = std::ranges::find(rows, instruction_set, &Row::target);
  ZOETROPE_CHECK(found != rows.end(), hwy::TargetName(instruction_set));
  return &*found;
}

}  // namespace

CpuTarget::CpuTarget(int64_t instruction_set)
    : conv3d_(row_for(conv3d_kernels(), instruction_set)),
      pointwise_(row_for(pointwise_kernels(), instruction_set)),
      attention_(row_for(attention_kernels(), instruction_set)) {}

std::string CpuTarget::instruction_set_name() const { return hwy::TargetName(conv3d_->target); }

std::string CpuTarget::name() const {
  std::string name = "cpu-" + instruction_set_name();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string CpuTarget::refusal(const graph::Graph& graph, const graph::Op& op) const {
  const auto is_float32 = [&](graph::ValueId id) {
    return graph.value(id).dtype == DType::kFloat32;
  };
  if (!std::ranges::all_of(graph::operands_of(op), is_float32) ||
      !std::ranges::all_of(graph::results_of(op), is_float32)) {
    return "the CPU's kernels compute in float32 only";
  }
  return "";
}

Choice CpuTarget::choose(const graph::Graph& graph, const graph::Op& op) const {
  const std::string reason = refusal(graph, op);
  ZOETROPE_CHECK(reason.empty(), op.name + ": " + reason);
  switch (op.kind) {
    case graph::OpKind::kConv:
      return {.kernel = conv3d_->name, .weight_layout = conv3d_->name, .in_place = {"residual"}};
    case graph::OpKind::kRmsNorm:
    case graph::OpKind::kSilu:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x"}};
    case graph::OpKind::kAdd:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x", "residual"}};
    case graph::OpKind::kAttention: {
      const graph::Value& y = graph.value(op.y);
      const Extent extent = {.frames_per_latent = false,
                             .stride = y.stride,
                             .channels = attention_->workspace_per_position(y.channels)};
      const int64_t fixed = attention_->workspace_fixed(y.channels) * size_of(DType::kFloat32);
      return {.kernel = attention_->name, .workspace = extent, .workspace_extra_bytes = fixed};
    }
    case graph::OpKind::kUpsampleNearest:
    case graph::OpKind::kFrameInterleave:
    case graph::OpKind::kCarry:
      return {.kernel = graph::name_of(op.kind)};
  }
  fail(ErrorCode::kInternal, "{}: no kernel for this kind of op", op.name);
}

std::vector<std::byte> CpuTarget::pack(const std::string& layout, const std::vector<int64_t>& shape,
                                       const std::vector<float>& values) const {
  std::vector<std::byte> bytes;
  if (layout == kPlainLayout) {
    bytes.resize(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  ZOETROPE_CHECK(layout == conv3d_->name && shape.size() == 5, layout);
  const int64_t taps = shape[2] * shape[3] * shape[4];
  bytes.resize(static_cast<size_t>(conv3d_->packed_bytes(shape[0], shape[1], taps)));
  conv3d_->pack(values.data(), shape[0], shape[1], taps, bytes.data());
  return bytes;
}

std::vector<int64_t> instruction_sets() {
  std::vector<int64_t> sets;
  for (const Conv3dKernel& kernel : conv3d_kernels()) sets.push_back(kernel.target);
  return sets;
}

}  // namespace zoetrope::cpu
