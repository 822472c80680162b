// SPDX-License-Identifier: Apache-2.0
#include "backend/step_operands.h"

namespace zoetrope {

Operand StepOperands::operand(const std::string& role) const {
  const auto found = step_.buffers.find(role);
  if (found == step_.buffers.end()) return {};
  const auto index = static_cast<size_t>(found->second);
  const Extent& extent = plan_.buffers[index].extent;
  return {.data = launch_.buffers[index],
          .dtype = extent.dtype,
          .frames = extent.frame_count(launch_.n),
          .height = launch_.height / extent.stride,
          .width = launch_.width / extent.stride,
          .channels = extent.channels};
}

const float* StepOperands::constant(const std::string& role) const {
  const auto found = step_.constants.find(role);
  if (found == step_.constants.end()) return nullptr;
  const auto index = static_cast<size_t>(found->second);
  return reinterpret_cast<const float*>(launch_.constants[index]);
}

}  // namespace zoetrope
