// SPDX-License-Identifier: Apache-2.0
#include "cli/check_memory.h"

#include <algorithm>
#include <string>

#include "base/fail.h"
#include "base/machine.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

double mebibytes(double bytes) { return bytes / (1 << 20); }

double bytes_of(const ValueShape& shape) {
  return static_cast<double>(shape.frames) * static_cast<double>(shape.height) *
         static_cast<double>(shape.width) * static_cast<double>(shape.channels) * sizeof(float);
}

// Of all results of one latent frame, as float32: those of the reference wait for the other side's.
double bytes_of_results(const PlanDescription& plan) {
  double bytes = 0;
  for (const StepDescription& step : plan.steps) {
    for (const char* role : {"y", "activated"}) {
      const auto buffer = step.buffers.find(role);
      if (buffer == step.buffers.end()) continue;
      bytes += bytes_of(plan.buffers.at(static_cast<size_t>(buffer->second)).shape);
    }
  }
  return bytes;
}

struct Need {
  double results = 0;
  double side = 0;  // a model on the host and its Streams
};

Need need_of(const Options& options, const LoadOptions& way, int64_t height, int64_t width) {
  const CheckpointDescription model = zoetrope::describe(options.weights);
  const bool on_host = way.device == "cpu";
  Need need;
  double weights = 0;
  const auto add = [&](const char* entry) {
    const PlanDescription plan = describe_plan(
        options.weights, {.entry = entry, .height = height, .width = width, .frames = 5}, way);
    need.results = std::max(need.results, bytes_of_results(plan));
    if (!on_host) return;
    weights = std::max(weights, static_cast<double>(plan.memory.weights));
    need.side += static_cast<double>(plan.memory.total() - plan.memory.weights);
  };
  if (model.encoder_base_dim != 0) add("encode.next");
  if (model.decoder_base_dim != 0) add("decode.next");
  need.side += weights;
  return need;
}

}  // namespace

void check_memory(const Options& options, const Ways& ways, int64_t height, int64_t width) {
  const Need reference = need_of(options, ways.reference, height, width);
  const Need tested = need_of(options, ways.tested, height, width);
  const double needed = reference.results + reference.side + tested.side;
  const auto there = static_cast<double>(total_memory());
  if (needed <= there) return;
  fail(ErrorCode::kOutOfMemory,
       "check: {}x{} needs {:.0f} MiB of this machine's {:.0f} MiB, {:.0f} of it is values of "
       "steps that are compared; use a smaller --size",
       width, height, mebibytes(needed), mebibytes(there), mebibytes(reference.results));
}

}  // namespace zoetrope::cli
