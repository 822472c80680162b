// SPDX-License-Identifier: Apache-2.0
// Makes a Graph op by op; the shape of each result follows from the op.
#pragma once

#include <limits>
#include <string>

#include "graph/graph.h"

namespace zoetrope::graph {

class Builder {
 public:
  explicit Builder(std::string entry) { graph_.name = std::move(entry); }

  // No element is larger than `bound`, either way.
  ValueId input(std::string name, int64_t frames, int64_t stride, int64_t channels,
                double bound = std::numeric_limits<double>::infinity());
  ValueId history(std::string name, int64_t frames, ValueId like);
  ConstantId constant(Constant constant);

  // `history` is kNone for convs that look at one frame only.
  ValueId conv(const std::string& name, ValueId x, ValueId history, const ConvShape& shape,
               ConstantId weight, ConstantId bias);
  ValueId rms_norm(const std::string& name, ValueId x, ConstantId gamma);
  ValueId silu(const std::string& name, ValueId x);
  ValueId add(const std::string& name, ValueId x, ValueId residual);
  ValueId upsample_nearest(const std::string& name, ValueId x);
  ValueId frame_interleave(const std::string& name, ValueId x);
  ValueId attention(const std::string& name, ValueId qkv);
  void carry(const std::string& name, ValueId x, ValueId history);

  // Verifies and hands over the Graph.
  Graph finish(ValueId output) &&;

 private:
  ValueId add_value(Value value);
  ValueId like(const std::string& name, ValueId x);
  ValueId history_out(ValueId history);

  Graph graph_;
};

}  // namespace zoetrope::graph
