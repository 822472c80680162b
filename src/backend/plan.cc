// SPDX-License-Identifier: Apache-2.0
#include "backend/plan.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/dtype.h"
#include "base/fail.h"

namespace zoetrope {
namespace {

using nlohmann::json;

constexpr std::array kBufferKinds = {
    std::pair{BufferKind::kInput, "input"}, std::pair{BufferKind::kOutput, "output"},
    std::pair{BufferKind::kState, "state"}, std::pair{BufferKind::kArena, "arena"}};

constexpr std::array kReaches = {std::pair{Reach::kLocal, "local"},
                                 std::pair{Reach::kFrame, "frame"}};

template <typename Table, typename Enum>
const char* word_of(const Table& table, Enum value) {
  for (const auto& [item, word] : table) {
    if (item == value) return word;
  }
  fail(ErrorCode::kInternal, "plan: unknown enumerator {}", static_cast<int>(value));
}

template <typename Table>
auto value_of(const Table& table, const std::string& word) {
  for (const auto& [item, name] : table) {
    if (name == word) return item;
  }
  fail(ErrorCode::kInvalidArgument, "plan: expected a known kind, found \"{}\"", word);
}

json buffer_to_json(const Buffer& buffer) {
  return {{"name", buffer.name},
          {"kind", name_of(buffer.kind)},
          {"frames", buffer.extent.frames},
          {"frames_per_latent", buffer.extent.frames_per_latent},
          {"stride", buffer.extent.stride},
          {"channels", buffer.extent.channels},
          {"dtype", name_of(buffer.extent.dtype)},
          {"extra_bytes", buffer.extra_bytes},
          {"alignment", buffer.alignment},
          {"live", {buffer.first_step, buffer.last_step}}};
}

Buffer buffer_from_json(const json& item) {
  const auto dtype = parse_dtype(item.at("dtype").get<std::string>());
  if (!dtype) fail(ErrorCode::kInvalidArgument, "plan: unknown dtype {}", item.at("dtype").dump());
  return {.name = item.at("name"),
          .kind = value_of(kBufferKinds, item.at("kind")),
          .extent = {.frames = item.at("frames"),
                     .frames_per_latent = item.at("frames_per_latent"),
                     .stride = item.at("stride"),
                     .channels = item.at("channels"),
                     .dtype = *dtype},
          .extra_bytes = item.at("extra_bytes"),
          .alignment = item.at("alignment"),
          .first_step = item.at("live").at(0),
          .last_step = item.at("live").at(1)};
}

json step_to_json(const Step& step) {
  return {{"name", step.name},       {"op", step.op},
          {"kernel", step.kernel},   {"attributes", step.attributes},
          {"buffers", step.buffers}, {"constants", step.constants},
          {"refused", step.refused}};
}

Step step_from_json(const json& item) {
  return {.name = item.at("name"),
          .op = item.at("op"),
          .kernel = item.at("kernel"),
          .attributes = item.at("attributes"),
          .buffers = item.at("buffers"),
          .constants = item.at("constants"),
          .refused = item.at("refused")};
}

void expect(bool holds, const std::string& what) {
  if (!holds) fail(ErrorCode::kInvalidArgument, "plan: {}", what);
}

bool is_index(int64_t index, size_t count) {
  return index >= 0 && static_cast<size_t>(index) < count;
}

void check_buffer(const Buffer& buffer, size_t steps) {
  const Extent& extent = buffer.extent;
  expect(extent.frames > 0 && extent.stride > 0 && extent.channels >= 0 && buffer.extra_bytes >= 0,
         buffer.name + ": a size is not positive");
  expect(buffer.alignment > 0 && (buffer.alignment & (buffer.alignment - 1)) == 0,
         buffer.name + ": the alignment is not a power of two");
  expect(is_index(buffer.first_step, steps) && is_index(buffer.last_step, steps) &&
             buffer.first_step <= buffer.last_step,
         buffer.name + ": its live range is no range of steps");
}

void check_step(const Step& step, const Plan& plan) {
  for (const auto& [role, index] : step.buffers) {
    expect(is_index(index, plan.buffers.size()), step.name + ": " + role + " names no buffer");
  }
  for (const auto& [role, index] : step.constants) {
    expect(is_index(index, plan.constants.size()), step.name + ": " + role + " names no constant");
  }
}

void check(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) check_buffer(buffer, plan.steps.size());
  for (const Step& step : plan.steps) check_step(step, plan);
  for (const Segment& segment : plan.segments) {
    const int64_t end = int64_t{segment.first_step} + segment.step_count;
    expect(segment.step_count > 0 && is_index(segment.first_step, plan.steps.size()) &&
               end <= static_cast<int64_t>(plan.steps.size()),
           "a segment is no range of steps");
  }
  expect(is_index(plan.input, plan.buffers.size()) && is_index(plan.output, plan.buffers.size()),
         "input or output names no buffer");
}

}  // namespace

namespace {

// The shape of a role's buffer in a launch; zeros if the step has none.
struct StepShape {
  double frames = 0;
  double positions = 0;
  double channels = 0;
  double elements() const { return frames * positions * channels; }
};

class WorkCounter {
 public:
  WorkCounter(const Plan& plan, const Step& step, int64_t n, int64_t height, int64_t width)
      : plan_(plan), step_(step), n_(n), height_(height), width_(width) {}

  double flops() const {
    const StepShape y = shape(step_.buffers.contains("y") ? "y" : "activated");
    if (step_.op == "attention") return 4 * y.elements() * y.positions;
    if (step_.op != "conv") return 0;
    const double taps = attribute("kernel_time") - attribute("first_tap");
    const double depth =
        shape("x").channels * taps * attribute("kernel_height") * attribute("kernel_width");
    return 2 * y.elements() * (depth + shape("shortcut").channels);
  }

  // A history that is not read (all of its taps left out) is not counted. A carry reads as many
  // frames as it writes, not all of x.
  double bytes() const {
    if (step_.op == "carry") {
      const Buffer& history = buffer(step_.buffers.at("history"));
      return 2 * static_cast<double>(history.bytes(n_, height_, width_));
    }
    double sum = 0;
    for (const auto& [role, index] : step_.buffers) {
      if (role == "history" && attribute("first_tap") > 0) continue;
      sum += static_cast<double>(buffer(index).bytes(n_, height_, width_));
    }
    for (const auto& [role, index] : step_.constants) {
      sum += static_cast<double>(plan_.constants[static_cast<size_t>(index)].bytes);
    }
    return sum;
  }

 private:
  const Buffer& buffer(int32_t index) const { return plan_.buffers[static_cast<size_t>(index)]; }

  double attribute(const std::string& name) const {
    const auto found = step_.attributes.find(name);
    return found == step_.attributes.end() ? 0 : static_cast<double>(found->second);
  }

  StepShape shape(const std::string& role) const {
    const auto found = step_.buffers.find(role);
    if (found == step_.buffers.end()) return {};
    const Extent& extent = buffer(found->second).extent;
    return {static_cast<double>(extent.frame_count(n_)),
            static_cast<double>((height_ / extent.stride) * (width_ / extent.stride)),
            static_cast<double>(extent.channels)};
  }

  const Plan& plan_;
  const Step& step_;
  int64_t n_;
  int64_t height_;
  int64_t width_;
};

}  // namespace

Work work_of(const Plan& plan, const Step& step, int64_t n, int64_t height, int64_t width) {
  const WorkCounter counter(plan, step, n, height, width);
  return {.flops = counter.flops(), .bytes = counter.bytes()};
}

const char* name_of(BufferKind kind) { return word_of(kBufferKinds, kind); }

std::string to_json(const Plan& plan) {
  json root = {{"entry", plan.entry},    {"target", plan.target},    {"input", plan.input},
               {"output", plan.output},  {"buffers", json::array()}, {"constants", json::array()},
               {"steps", json::array()}, {"segments", json::array()}};
  for (const Buffer& buffer : plan.buffers) root["buffers"].push_back(buffer_to_json(buffer));
  for (const PackedConstant& constant : plan.constants) {
    root["constants"].push_back(
        {{"name", constant.name}, {"layout", constant.layout}, {"bytes", constant.bytes}});
  }
  for (const Step& step : plan.steps) root["steps"].push_back(step_to_json(step));
  for (const Segment& segment : plan.segments) {
    root["segments"].push_back({{"first_step", segment.first_step},
                                {"step_count", segment.step_count},
                                {"reach", word_of(kReaches, segment.reach)},
                                {"halo", segment.halo}});
  }
  return root.dump(1);
}

Plan plan_from_json(const std::string& text) {
  Plan plan;
  try {
    const json root = json::parse(text);
    plan.entry = root.at("entry");
    plan.target = root.at("target");
    plan.input = root.at("input");
    plan.output = root.at("output");
    for (const json& item : root.at("buffers")) plan.buffers.push_back(buffer_from_json(item));
    for (const json& item : root.at("constants")) {
      plan.constants.push_back(
          {.name = item.at("name"), .layout = item.at("layout"), .bytes = item.at("bytes")});
    }
    for (const json& item : root.at("steps")) plan.steps.push_back(step_from_json(item));
    for (const json& item : root.at("segments")) {
      plan.segments.push_back({.first_step = item.at("first_step"),
                               .step_count = item.at("step_count"),
                               .reach = value_of(kReaches, item.at("reach")),
                               .halo = item.at("halo")});
    }
  } catch (const json::exception& error) {
    fail(ErrorCode::kInvalidArgument, "plan: not a Plan in JSON: {}", error.what());
  }
  check(plan);
  return plan;
}

}  // namespace zoetrope
