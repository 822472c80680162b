// SPDX-License-Identifier: Apache-2.0
#include "backend/step_operands.h"

namespace zoetrope {

Operand operand_of(const Plan& plan, const Launch& launch, int32_t buffer) {
  const auto index = static_cast<size_t>(buffer);
  const Extent& extent = plan.buffers[index].extent;
  return {.data = launch.buffers[index],
          .dtype = extent.dtype,
          .frames = extent.frame_count(launch.n),
          .height = launch.height / extent.stride,
          .width = launch.width / extent.stride,
          .channels = extent.channels};
}

Operand StepOperands::operand(const std::string& role) const {
  const auto found = step_.buffers.find(role);
  return found == step_.buffers.end() ? Operand{} : operand_of(plan_, launch_, found->second);
}

const float* StepOperands::constant(const std::string& role) const {
  const auto found = step_.constants.find(role);
  if (found == step_.constants.end()) return nullptr;
  const auto index = static_cast<size_t>(found->second);
  return reinterpret_cast<const float*>(launch_.constants[index]);
}

}  // namespace zoetrope
