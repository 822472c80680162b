// SPDX-License-Identifier: Apache-2.0
// What a step of a Plan reads and writes in one launch: how every backend finds it.
#pragma once

#include <cstdint>
#include <string>

#include "backend/plan.h"
#include "backend/queue.h"

namespace zoetrope {

// A step's buffer with its shape in this launch.
struct Operand {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t pixels() const { return height * width; }
  int64_t elements() const { return frames * pixels() * channels; }
  int64_t pixel_bytes() const { return channels * size_of(dtype); }
};

// The buffer of this index.
Operand operand_of(const Plan& plan, const Launch& launch, int32_t buffer);

class StepOperands {
 public:
  StepOperands(const Plan& plan, const Step& step, const Launch& launch)
      : plan_(plan), step_(step), launch_(launch) {}

  const Step& step() const { return step_; }

  // Null data if the step has no such operand, or the launch does not keep it.
  Operand operand(const std::string& role) const;

  // Plain float32, or packed as the step's kernel asked for; null if the step has none.
  const float* constant(const std::string& role) const;

  int64_t attribute(const std::string& name) const { return step_.attributes.at(name); }

 private:
  const Plan& plan_;
  const Step& step_;
  const Launch& launch_;
};

}  // namespace zoetrope
