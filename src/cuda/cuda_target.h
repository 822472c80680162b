// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a Target, known by its compute capability alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/target.h"

namespace zoetrope::cuda {

// The least that a kernel runs on: 8.0.
inline constexpr int kLeastCapability = 80;

class CudaTarget : public Target {
 public:
  // `capability`: ten times the major number and the minor: 90 for 9.0.
  explicit CudaTarget(int capability) : capability_(capability) {}

  std::string name() const override;
  int packing_version() const override { return 1; }
  DType default_operands() const override { return DType::kBFloat16; }
  std::string refusal(const graph::Graph& graph, const graph::Op& op) const override;
  Choice choose(const graph::Graph& graph, const graph::Op& op) const override;
  int64_t packed_bytes(const std::string& layout, const std::vector<int64_t>& shape) const override;
  std::vector<std::byte> pack(const std::string& layout, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) const override;

  int capability() const { return capability_; }

 private:
  int capability_;
};

}  // namespace zoetrope::cuda
