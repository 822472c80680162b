// SPDX-License-Identifier: Apache-2.0
// The CPU as a Target, for one instruction set: a kernel for every op, in float32 and, where the
// processor multiplies bfloat16, in bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/target.h"
#include "cpu/kernels/attention.h"
#include "cpu/kernels/conv3d.h"
#include "cpu/kernels/pointwise.h"

namespace zoetrope::cpu {

class CpuTarget : public Target {
 public:
  // `instruction_set`: Highway's bit of one that this machine runs; 0: the best.
  explicit CpuTarget(int64_t instruction_set = 0);

  std::string name() const override;
  DType default_operands() const override;
  std::string refusal(const graph::Graph& graph, const graph::Op& op) const override;
  Choice choose(const graph::Graph& graph, const graph::Op& op) const override;
  std::vector<std::byte> pack(const std::string& layout, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) const override;

  // "AVX3"
  std::string instruction_set_name() const;

  // The best kernel for a conv of this shape (Conv3dKernel::refusal), and why better ones refused.
  // Null if there is none for the type.
  const Conv3dKernel* conv3d(const Conv3dArgs& args, DType operands,
                             std::vector<std::string>& refused) const;

  // The kernel of that name, or null.
  const Conv3dKernel* conv3d(const std::string& name) const;

  // Whether there are convs for a type of operands.
  bool has(DType operands) const;

  // The kernels for a type of operands; null if there is none.
  const PointwiseKernels* pointwise(DType operands) const;
  const AttentionKernel* attention(DType operands) const;

 private:
  std::string conv_refusal(const graph::Graph& graph, const graph::Op& op) const;

  int64_t instruction_set_;
};

// Every instruction set with kernels that this machine runs, best first, as Highway's bits.
std::vector<int64_t> instruction_sets();

}  // namespace zoetrope::cpu
