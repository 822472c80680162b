// SPDX-License-Identifier: Apache-2.0
// A kind of CPU as a Target: an instruction set and how bfloat16 is multiplied. A kernel for every
// op, in float32 and, where the processor multiplies it, in bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/target.h"
#include "cpu/kernels/attention.h"
#include "cpu/kernels/conv3d.h"
#include "cpu/kernels/pointwise.h"

namespace zoetrope::cpu {

class CpuTarget : public Target {
 public:
  // This machine with one of its instruction sets (Highway's bit); 0: the best.
  explicit CpuTarget(int64_t instruction_set = 0);

  // Any machine that kernels were compiled for.
  CpuTarget(int64_t instruction_set, Bf16Products bf16);

  std::string name() const override;
  int packing_version() const override { return 1; }
  DType default_operands() const override;
  std::string refusal(const graph::Graph& graph, const graph::Op& op) const override;
  Choice choose(const graph::Graph& graph, const graph::Op& op) const override;
  int64_t packed_bytes(const std::string& layout, const std::vector<int64_t>& shape) const override;
  std::vector<std::byte> pack(const std::string& layout, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) const override;
  int64_t scratch_bytes(const Plan& plan, int threads) const override;

  // "AVX3"
  std::string instruction_set_name() const;

  // Whether this machine can run the kernels.
  bool runs_here() const;

  // The best kernel for a conv of this shape (Conv3dKernel::refusal), and why better ones refused.
  // Null if there is none for the type.
  const Conv3dKernel* conv3d(const Conv3dArgs& args, DType operands,
                             std::vector<std::string>& refused) const;

  // The kernel of that name, or null.
  const Conv3dKernel* conv3d(const std::string& name) const;

  // Whether there are convs for a type of operands.
  bool has(DType operands) const;

  // The kernels for a type of operands; null if there is none.
  const PointwiseKernels* pointwise(DType operands) const;  // of this machine alone
  const AttentionKernel* attention(DType operands) const;

 private:
  struct Packing {
    const Conv3dKernel* kernel;
    int64_t parts;
  };

  std::string conv_refusal(const graph::Graph& graph, const graph::Op& op) const;
  Packing packing(const std::string& layout) const;

  int64_t instruction_set_;
  Bf16Products bf16_;
  std::vector<Conv3dKernel> convs_;  // best first
  std::vector<AttentionKernel> attentions_;
};

// Every instruction set with kernels that this machine runs, best first, as Highway's bits.
std::vector<int64_t> instruction_sets();

// Every kind of CPU that kernels were compiled for, best first.
std::vector<CpuTarget> cpu_targets();

// The one of that name, if there is one.
std::optional<CpuTarget> cpu_target_named(const std::string& name);

}  // namespace zoetrope::cpu
