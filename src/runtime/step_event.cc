// SPDX-License-Identifier: Apache-2.0
#include "runtime/step_event.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "backend/step_operands.h"
#include "base/dtype.h"
#include "base/fail.h"

namespace zoetrope {
namespace {

ValueShape shape_of(const Operand& operand) {
  return {.frames = operand.frames,
          .height = operand.height,
          .width = operand.width,
          .channels = operand.channels};
}

// Of the first of the roles that the step has.
ValueShape shape_of(const StepOperands& operands, std::initializer_list<const char*> roles) {
  for (const char* role : roles) {
    if (operands.step().buffers.contains(role)) return shape_of(operands.operand(role));
  }
  return {};
}

int64_t attribute(const Step& step, const char* name) {
  const auto found = step.attributes.find(name);
  return found == step.attributes.end() ? 0 : found->second;
}

StepResult result_of(const Backend& backend, const std::string& name, const Operand& value) {
  const auto read = [&backend, dtype = value.dtype, data = static_cast<std::byte*>(value.data),
                     count = value.elements()](float* values) {
    const int64_t bytes = count * size_of(dtype);
    if (dtype == DType::kFloat32) return backend.copy_to_host(values, data, bytes);
    std::vector<std::byte> copy(static_cast<size_t>(bytes));
    backend.copy_to_host(copy.data(), data, bytes);
    convert_to_float(copy.data(), dtype, count, values);
  };
  return {.name = name, .shape = shape_of(value), .dtype = value.dtype, .read = read};
}

// y has the step's name. What a conv makes beside it always has a buffer of its own, and that
// buffer its name; y may have taken the buffer of an operand, and kept that one's.
std::vector<StepResult> results_of(const Backend& backend, const Plan& plan,
                                   const StepOperands& operands) {
  const Step& step = operands.step();
  std::vector<StepResult> results;
  if (step.buffers.contains("y")) {
    results.push_back(result_of(backend, step.name, operands.operand("y")));
  }
  const auto activated = step.buffers.find("activated");
  if (activated != step.buffers.end()) {
    const Buffer& buffer = plan.buffers[static_cast<size_t>(activated->second)];
    const std::string& name = results.empty() ? step.name : buffer.name;
    results.push_back(result_of(backend, name, operands.operand("activated")));
  }
  return results;
}

// The last one, since buffers are shared.
const Step& maker_of_output(const Plan& plan) {
  const auto makes = [&](const Step& step) {
    const auto y = step.buffers.find("y");
    return y != step.buffers.end() && y->second == plan.output;
  };
  const auto found = std::find_if(plan.steps.rbegin(), plan.steps.rend(), makes);
  ZOETROPE_CHECK(found != plan.steps.rend(), plan.entry);
  return *found;
}

// Bytes of the values that are live in the step of this index.
int64_t live_bytes(const Plan& plan, std::ptrdiff_t step, const Launch& launch) {
  int64_t bytes = 0;
  for (const Buffer& buffer : plan.buffers) {
    const bool live = buffer.first_step <= step && step <= buffer.last_step;
    if (live && buffer.kind != BufferKind::kState) {
      bytes += buffer.bytes(launch.n, launch.height, launch.width);
    }
  }
  return bytes;
}

}  // namespace

StepEvent step_event(const Backend& backend, const Plan& plan, const Step& step,
                     const Launch& launch, double seconds) {
  const Work work = work_of(plan, step, launch.n, launch.height, launch.width);
  const StepOperands operands(plan, step, launch);
  return {.entry = plan.entry,
          .name = step.name,
          .op = step.op,
          .kernel = step.kernel,
          .x = shape_of(operands, {"x"}),
          .y = shape_of(operands, {"y", "activated", "history"}),
          .taps_time = attribute(step, "kernel_time") - attribute(step, "first_tap"),
          .taps_height = attribute(step, "kernel_height"),
          .taps_width = attribute(step, "kernel_width"),
          .flops = work.flops,
          .bytes = work.bytes,
          .seconds = seconds,
          .memory = live_bytes(plan, &step - plan.steps.data(), launch),
          .results = results_of(backend, plan, operands)};
}

StepEvent copy_event(const Backend& backend, const Plan& plan, CopyKind kind, const Launch& launch,
                     double seconds) {
  const bool in = kind == CopyKind::kIn;
  const int32_t buffer = in ? plan.input : plan.output;
  const Buffer& value = plan.buffers[static_cast<size_t>(buffer)];
  const std::string& name = in ? value.name : maker_of_output(plan).name;
  const Operand operand = operand_of(plan, launch, buffer);
  const ValueShape shape = shape_of(operand);
  StepEvent event = {.entry = plan.entry,
                     .name = name,
                     .op = in ? "copy_in" : "copy_out",
                     .kernel = "edge_copy",
                     .x = shape,
                     .y = shape,
                     .bytes = static_cast<double>(operand.elements() * size_of(operand.dtype)),
                     .seconds = seconds,
                     .memory = live_bytes(plan, in ? 0 : std::ssize(plan.steps) - 1, launch)};
  if (in) event.results.push_back(result_of(backend, name, operand));
  return event;
}

}  // namespace zoetrope
