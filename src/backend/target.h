// SPDX-License-Identifier: Apache-2.0
// What a kind of device can do, known without the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/plan.h"
#include "graph/graph.h"

namespace zoetrope {

// The kernel for one op.
struct Choice {
  std::string kernel;
  std::string weight_layout = {};        // of the constant "weight"; others stay plain
  std::optional<Extent> workspace = {};  // scratch while the op runs
  int64_t workspace_extra_bytes = 0;
  std::vector<std::string> in_place = {};  // roles ("x", "residual") that y may overwrite
  std::vector<std::string> refused = {};   // "kernel: why not", for more specific kernels
};

class Target {
 public:
  virtual ~Target() = default;

  // "cpu-avx3", "cuda-sm90": all that kernels and layouts are chosen by.
  virtual std::string name() const = 0;

  // Of what pack() writes and kernels read. It must change when the bytes of a layout do: packed
  // weights of another version are refused.
  virtual int packing_version() const = 0;

  // The operands that suit the device where nobody asks for a type.
  virtual DType default_operands() const = 0;

  // Why no kernel can run `op`, or empty. Passes ask it before they make an op.
  virtual std::string refusal(const graph::Graph& graph, const graph::Op& op) const = 0;

  // Depends on the op, its channels and types; never on frames, height or width.
  virtual Choice choose(const graph::Graph& graph, const graph::Op& op) const = 0;

  // The layout of a constant that no kernel asks to be packed: float32 as read.
  static constexpr const char* kPlainLayout = "plain";

  // Bytes that pack() makes of a constant of this shape.
  virtual int64_t packed_bytes(const std::string& layout,
                               const std::vector<int64_t>& shape) const = 0;

  // `values` are the constant's, row-major, of shape `shape`.
  virtual std::vector<std::byte> pack(const std::string& layout, const std::vector<int64_t>& shape,
                                      const std::vector<float>& values) const = 0;

  // Bytes that kernels of the Plan need while one runs on so many threads, beyond its buffers, for
  // any video.
  virtual int64_t scratch_bytes(const Plan& /*plan*/, int /*threads*/) const { return 0; }

 protected:
  // packed_bytes() of kPlainLayout.
  static int64_t plain_bytes(const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return count * size_of(DType::kFloat32);
  }
  // pack() of it.
  static std::vector<std::byte> plain_pack(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
};

}  // namespace zoetrope
