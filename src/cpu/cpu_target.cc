// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_target.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "base/fail.h"

namespace zoetrope::cpu {
namespace {

// Highway's bits of an instruction set and of those below it.
int64_t up_to(int64_t instruction_set) { return ~(instruction_set - 1); }

template <typename Row>
const Row* row_for(std::span<const Row> rows, int64_t instruction_set, DType operands) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) {
    return (row.target & up_to(instruction_set)) != 0 && row.operands == operands;
  });
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
    : CpuTarget(instruction_set == 0 ? instruction_sets().front() : instruction_set,
                bf16_products()) {}

CpuTarget::CpuTarget(int64_t instruction_set, Bf16Products bf16)
    : instruction_set_(instruction_set),
      bf16_(bf16),
      convs_(conv3d_kernels(up_to(instruction_set), bf16)),
      attentions_(attention_kernels(up_to(instruction_set))) {}

const Conv3dKernel* CpuTarget::conv3d(const Conv3dArgs& args, DType operands,
                                      std::vector<std::string>& refused) const {
  for (const Conv3dKernel& kernel : convs_) {
    if (kernel.operands != operands) continue;
    const std::string reason = kernel.refusal(args);
    if (reason.empty()) return &kernel;
    refused.push_back(fmt::format("{}: {}", kernel.name, reason));
  }
  return nullptr;
}

const Conv3dKernel* CpuTarget::conv3d(const std::string& name) const {
  const auto found =
      std::ranges::find_if(convs_, [&](const auto& row) { return name == row.name; });
  return found == convs_.end() ? nullptr : &*found;
}

bool CpuTarget::has(DType operands) const {
  return row_for<Conv3dKernel>(convs_, instruction_set_, operands) != nullptr;
}

const PointwiseKernels* CpuTarget::pointwise(DType operands) const {
  return row_for(pointwise_kernels(), instruction_set_, operands);
}

const AttentionKernel* CpuTarget::attention(DType operands) const {
  return row_for<AttentionKernel>(attentions_, instruction_set_, operands);
}

std::string CpuTarget::instruction_set_name() const { return hwy::TargetName(instruction_set_); }

bool CpuTarget::runs_here() const {
  if ((instruction_set_ & hwy::SupportedTargets()) == 0) return false;
  return !has(DType::kBFloat16) || bf16_products() != Bf16Products::kNone;
}

std::string CpuTarget::name() const {
  std::string name = "cpu-" + instruction_set_name();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (!has(DType::kBFloat16)) return name;
  return name + (bf16_ == Bf16Products::kPairs ? "-bf16" : "-bf16-expanded");
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

CpuTarget::Packing CpuTarget::packing(const std::string& layout) const {
  for (const Conv3dKernel& kernel : convs_) {
    for (const int64_t parts : {1, 2, 4}) {
      if (layout == layout_name(kernel, parts)) return {&kernel, parts};
    }
  }
  fail(ErrorCode::kInternal, "{} has no weight layout {}", name(), layout);
}

int64_t CpuTarget::packed_bytes(const std::string& layout,
                                const std::vector<int64_t>& shape) const {
  if (layout == kPlainLayout) return plain_bytes(shape);
  ZOETROPE_CHECK(shape.size() == 5, layout);
  const auto [kernel, parts] = packing(layout);
  return kernel->packed_bytes(shape[0], shape[1], shape[2] * shape[3] * shape[4], parts);
}

std::vector<std::byte> CpuTarget::pack(const std::string& layout, const std::vector<int64_t>& shape,
                                       const std::vector<float>& values) const {
  if (layout == kPlainLayout) return plain_pack(values);
  std::vector<std::byte> bytes(static_cast<size_t>(packed_bytes(layout, shape)));
  const auto [kernel, parts] = packing(layout);
  kernel->pack(values.data(), shape[0], shape[1], shape[2] * shape[3] * shape[4], parts,
               bytes.data());
  return bytes;
}

int64_t CpuTarget::scratch_bytes(const Plan& plan, int threads) const {
  const auto channels = [&](const Step& step, const char* role) {
    const auto found = step.buffers.find(role);
    if (found == step.buffers.end()) return int64_t{0};
    return plan.buffers[static_cast<size_t>(found->second)].extent.channels;
  };
  int64_t most = 0;
  for (const Step& step : plan.steps) {
    const Conv3dKernel* kernel = step.op == "conv" ? conv3d(step.kernel) : nullptr;
    if (kernel == nullptr) continue;
    const int64_t c_out = std::max(channels(step, "y"), channels(step, "activated"));
    most = std::max(most, kernel->scratch_floats({.c_in = channels(step, "x"), .c_out = c_out}));
  }
  return most * threads * size_of(DType::kFloat32);
}

namespace {

// With kernels for float32 among `kernels`, best first, as Highway's bits.
std::vector<int64_t> instruction_sets_of(std::span<const Conv3dKernel> kernels) {
  std::vector<int64_t> sets;
  for (const Conv3dKernel& kernel : kernels) {
    if (kernel.operands == DType::kFloat32) sets.push_back(kernel.target);
  }
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  return sets;
}

}  // namespace

std::vector<int64_t> instruction_sets() { return instruction_sets_of(conv3d_kernels()); }

std::vector<CpuTarget> cpu_targets() {
  constexpr int64_t kAll = -1;
  std::vector<CpuTarget> targets;
  for (const int64_t set : instruction_sets_of(conv3d_kernels(kAll, Bf16Products::kNone))) {
    for (const auto bf16 : {Bf16Products::kPairs, Bf16Products::kExpanded, Bf16Products::kNone}) {
      CpuTarget target(set, bf16);
      if (target.has(DType::kBFloat16) == (bf16 != Bf16Products::kNone)) {
        targets.push_back(std::move(target));
      }
    }
  }
  return targets;
}

std::optional<CpuTarget> cpu_target_named(const std::string& name) {
  for (CpuTarget& target : cpu_targets()) {
    if (target.name() == name) return std::move(target);
  }
  return std::nullopt;
}

}  // namespace zoetrope::cpu
