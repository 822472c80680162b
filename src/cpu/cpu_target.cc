// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_target.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>

#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

// Kernels of a better instruction set than the target's are left alone.
template <typename Row>
bool fits(const Row& row, int64_t instruction_set, DType operands) {
  return row.target >= instruction_set && row.operands == operands;
}

template <typename Row>
const Row* row_for(std::span<const Row> rows, int64_t instruction_set, DType operands) {
  const auto found = std::ranges::find_if(
      rows, [&](const Row& row) { return fits(row, instruction_set, operands); });
  return found == rows.end() ? nullptr : &*found;
}

// Parts of the filters that are packed one after another.
int64_t parts_of(graph::StoreMap store) {
  switch (store) {
    case graph::StoreMap::kPlain:
      return 1;
    case graph::StoreMap::kFrameInterleave:
      return 2;
    case graph::StoreMap::kUpsamplePhases:
      return 4;
  }
  fail(ErrorCode::kInternal, "unknown store map {}", static_cast<int>(store));
}

// What kernels are chosen by: nothing that changes with the video. Frames: of one latent frame.
Conv3dArgs shape_of(const graph::Graph& graph, const graph::Op& op) {
  return {.frames = graph.value(op.x).frames,
          .c_in = graph.value(op.x).channels,
          .kernel_time = op.conv.kernel_time,
          .kernel_height = op.conv.kernel_height,
          .kernel_width = op.conv.kernel_width,
          .first_tap = op.conv.first_tap,
          .stride_time = op.conv.stride_time,
          .stride_space = op.conv.stride_space,
          .pad_before = op.conv.pad_before,
          .store = static_cast<Conv3dStore>(op.store),
          .c_out = graph.value(graph::main_result(op)).channels};
}

std::string layout_name(const Conv3dKernel& kernel, int64_t parts) {
  return fmt::format("{}/{}", kernel.layout, parts);
}

}  // namespace

CpuTarget::CpuTarget(int64_t instruction_set)
    : instruction_set_(instruction_set == 0 ? instruction_sets().front() : instruction_set) {}

const Conv3dKernel* CpuTarget::conv3d(const Conv3dArgs& args, DType operands,
                                      std::vector<std::string>& refused) const {
  for (const Conv3dKernel& kernel : conv3d_kernels()) {
    if (!fits(kernel, instruction_set_, operands)) continue;
    const std::string reason = kernel.refusal(args);
    if (reason.empty()) return &kernel;
    refused.push_back(fmt::format("{}: {}", kernel.name, reason));
  }
  return nullptr;
}

const Conv3dKernel* CpuTarget::conv3d(const std::string& name) const {
  const auto rows = conv3d_kernels();
  const auto found = std::ranges::find_if(rows, [&](const auto& row) { return name == row.name; });
  return found == rows.end() ? nullptr : &*found;
}

bool CpuTarget::has(DType operands) const {
  return row_for(conv3d_kernels(), instruction_set_, operands) != nullptr;
}

const PointwiseKernels* CpuTarget::pointwise(DType operands) const {
  return row_for(pointwise_kernels(), instruction_set_, operands);
}

const AttentionKernel* CpuTarget::attention(DType operands) const {
  return row_for(attention_kernels(), instruction_set_, operands);
}

std::string CpuTarget::instruction_set_name() const { return hwy::TargetName(instruction_set_); }

std::string CpuTarget::name() const {
  std::string name = "cpu-" + instruction_set_name();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

// Half the memory of float32, and at least its speed.
DType CpuTarget::default_operands() const {
  return has(DType::kBFloat16) ? DType::kBFloat16 : DType::kFloat32;
}

std::string CpuTarget::refusal(const graph::Graph& graph, const graph::Op& op) const {
  const DType operands = graph.value(op.x).dtype;
  if (!has(operands)) {
    return fmt::format("this processor has no instructions for sums of {} products",
                       name_of(operands));
  }
  for (const graph::ValueId id : graph::operands_of(op)) {
    if (graph.value(id).dtype != operands) return "operands of different types";
  }
  if (op.kind == graph::OpKind::kConv) return conv_refusal(graph, op);
  for (const graph::ValueId id : graph::results_of(op)) {
    if (graph.value(id).dtype != operands) return "a result of another type than the operands";
  }
  return "";
}

std::string CpuTarget::conv_refusal(const graph::Graph& graph, const graph::Op& op) const {
  const DType operands = graph.value(op.x).dtype;
  if (op.y != graph::kNone && graph.value(op.y).dtype != operands &&
      graph.value(op.y).dtype != DType::kFloat32) {
    return "a raw result of another type than the operands or float32";
  }
  if (op.activated != graph::kNone && graph.value(op.activated).dtype != operands) {
    return "an activated result of another type than the operands";
  }
  if (op.shortcut != graph::kNone && op.store != graph::StoreMap::kPlain) {
    return "a shortcut where results are interleaved";
  }
  return "";
}

Choice CpuTarget::choose(const graph::Graph& graph, const graph::Op& op) const {
  const std::string reason = refusal(graph, op);
  ZOETROPE_CHECK(reason.empty(), op.name + ": " + reason);
  const DType operands = graph.value(op.x).dtype;
  switch (op.kind) {
    case graph::OpKind::kConv: {
      Choice choice = {.kernel = "", .in_place = {"residual"}};
      const Conv3dKernel& kernel = *conv3d(shape_of(graph, op), operands, choice.refused);
      choice.kernel = kernel.name;
      choice.weight_layout = layout_name(kernel, parts_of(op.store));
      return choice;
    }
    case graph::OpKind::kRmsNorm:
    case graph::OpKind::kSilu:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x"}};
    case graph::OpKind::kAdd:
      return {.kernel = graph::name_of(op.kind), .in_place = {"x", "residual"}};
    case graph::OpKind::kAttention: {
      const AttentionKernel& kernel = *attention(operands);
      const graph::Value& y = graph.value(op.y);
      const Extent extent = {.frames_per_latent = false,
                             .stride = y.stride,
                             .channels = kernel.workspace_per_position(y.channels)};
      const int64_t fixed = kernel.workspace_fixed(y.channels) * size_of(DType::kFloat32);
      return {.kernel = kernel.name, .workspace = extent, .workspace_extra_bytes = fixed};
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
  ZOETROPE_CHECK(shape.size() == 5, layout);
  const int64_t taps = shape[2] * shape[3] * shape[4];
  for (const Conv3dKernel& kernel : conv3d_kernels()) {
    for (const int64_t parts : {1, 2, 4}) {
      if (layout != layout_name(kernel, parts)) continue;
      bytes.resize(static_cast<size_t>(kernel.packed_bytes(shape[0], shape[1], taps, parts)));
      kernel.pack(values.data(), shape[0], shape[1], taps, parts, bytes.data());
      return bytes;
    }
  }
  fail(ErrorCode::kInternal, "{} has no weight layout {}", name(), layout);
}

std::vector<int64_t> instruction_sets() {
  std::vector<int64_t> sets;
  for (const Conv3dKernel& kernel : conv3d_kernels()) {
    if (kernel.operands == DType::kFloat32) sets.push_back(kernel.target);
  }
  sets.erase(std::ranges::unique(sets).begin(), sets.end());
  return sets;
}

}  // namespace zoetrope::cpu
