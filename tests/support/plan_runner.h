// SPDX-License-Identifier: Apache-2.0
// Runs Plans without a Stream, in memory that starts as NaN, and looks at every value on the way.
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "compiler/memory_plan.h"
#include "runtime/program.h"
#include "tests/support/golden.h"

namespace zoetrope::testing {

class PlanRunner {
 public:
  // Called after each step with its name and the value it made, (frames, height, width, channels).
  using Look = std::function<void(const std::string& name, const Array& value)>;

  PlanRunner(const Backend& backend, int64_t height, int64_t width)
      : backend_(backend), queue_(backend.open_queue({})), height_(height), width_(width) {}

  // Histories are kept between calls, as in a Stream. Input and output are (frames, h, w, c).
  Array run(const Program& program, int64_t n, const Array& input, const Look& look = {}) {
    const Plan& plan = program.plan;
    const auto layout = compiler::memory_plan(plan, n, height_, width_);
    std::vector<float> arena(static_cast<size_t>(layout.arena_bytes) / sizeof(float) + 16,
                             std::numeric_limits<float>::quiet_NaN());
    const int64_t scratch_bytes = backend_.target().scratch_bytes(plan, backend_.threads());
    std::vector<float> scratch(static_cast<size_t>(scratch_bytes) / sizeof(float) + 16);
    Launch launch = {.n = n,
                     .height = height_,
                     .width = width_,
                     .buffers = {},
                     .constants = program.constants,
                     .scratch = reinterpret_cast<std::byte*>(aligned(scratch))};
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      launch.buffers.push_back(place(plan.buffers[i], arena, layout.offsets[i]));
    }
    const auto input_index = static_cast<size_t>(plan.input);
    std::memcpy(launch.buffers[input_index], input.values.data(),
                input.values.size() * sizeof(float));
    RunControl control;
    if (look) {
      control.observer = [&](const Step& step, const Launch& at, double /*seconds*/) {
        if (step.buffers.contains("y")) look(step.name, value(plan, step.buffers.at("y"), at));
      };
    }
    queue_->run(plan, launch, control);
    return value(plan, plan.output, launch);
  }

 private:
  std::byte* place(const Buffer& buffer, std::vector<float>& arena, int64_t offset) {
    if (buffer.kind != BufferKind::kState) {
      return reinterpret_cast<std::byte*>(aligned(arena)) + offset;
    }
    std::vector<float>& history = histories_[buffer.name];
    history.resize(static_cast<size_t>(buffer.bytes(1, height_, width_)) / sizeof(float));
    return reinterpret_cast<std::byte*>(history.data());
  }

  static float* aligned(std::vector<float>& arena) {
    const auto address = reinterpret_cast<uintptr_t>(arena.data());
    return reinterpret_cast<float*>((address + 63) / 64 * 64);
  }

  Array value(const Plan& plan, int32_t index, const Launch& launch) const {
    const Extent& extent = plan.buffers[static_cast<size_t>(index)].extent;
    Array array = Array::zeros({extent.frame_count(launch.n), height_ / extent.stride,
                                width_ / extent.stride, extent.channels});
    std::memcpy(array.values.data(), launch.buffers[static_cast<size_t>(index)],
                array.values.size() * sizeof(float));
    return array;
  }

  const Backend& backend_;
  std::unique_ptr<Queue> queue_;
  int64_t height_;
  int64_t width_;
  std::map<std::string, std::vector<float>> histories_;
};

// (c, t, h, w) -> (t, h, w, c)
inline Array to_ndhwc(const Array& array) {
  const auto& s = array.shape;
  Array result = Array::zeros({s[1], s[2], s[3], s[0]});
  const int64_t plane = s[1] * s[2] * s[3];
  for (int64_t c = 0; c < s[0]; ++c) {
    for (int64_t i = 0; i < plane; ++i) {
      result.values[static_cast<size_t>(i * s[0] + c)] =
          array.values[static_cast<size_t>(c * plane + i)];
    }
  }
  return result;
}

inline Array frames_of(const Array& array, int64_t begin, int64_t count) {
  Array result = Array::zeros({count, array.shape[1], array.shape[2], array.shape[3]});
  const int64_t frame = array.shape[1] * array.shape[2] * array.shape[3];
  std::copy_n(array.values.begin() + begin * frame, count * frame, result.values.begin());
  return result;
}

}  // namespace zoetrope::testing
