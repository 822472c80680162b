// SPDX-License-Identifier: Apache-2.0
#include "runtime/step_event.h"

#include <initializer_list>

namespace zoetrope {
namespace {

// Of the first of the roles that the step has.
ValueShape shape_of(const Plan& plan, const Step& step, const Launch& launch,
                    std::initializer_list<const char*> roles) {
  for (const char* role : roles) {
    const auto found = step.buffers.find(role);
    if (found == step.buffers.end()) continue;
    const Extent& extent = plan.buffers[static_cast<size_t>(found->second)].extent;
    return {.frames = extent.frame_count(launch.n),
            .height = launch.height / extent.stride,
            .width = launch.width / extent.stride,
            .channels = extent.channels};
  }
  return {};
}

int64_t attribute(const Step& step, const char* name) {
  const auto found = step.attributes.find(name);
  return found == step.attributes.end() ? 0 : found->second;
}

}  // namespace

StepEvent step_event(const Plan& plan, const Step& step, const Launch& launch, double seconds) {
  const Work work = work_of(plan, step, launch.n, launch.height, launch.width);
  return {.entry = plan.entry,
          .name = step.name,
          .op = step.op,
          .kernel = step.kernel,
          .x = shape_of(plan, step, launch, {"x"}),
          .y = shape_of(plan, step, launch, {"y", "activated", "history"}),
          .taps_time = attribute(step, "kernel_time") - attribute(step, "first_tap"),
          .taps_height = attribute(step, "kernel_height"),
          .taps_width = attribute(step, "kernel_width"),
          .flops = work.flops,
          .bytes = work.bytes,
          .seconds = seconds};
}

}  // namespace zoetrope
