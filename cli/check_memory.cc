// SPDX-License-Identifier: Apache-2.0
#include "cli/check_memory.h"

#include <algorithm>

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
  double side = 0;  // a model on the host, both halves, and its Streams
};

Need need_of(const Options& options, const LoadOptions& way, const CheckpointDescription& model,
             const CheckClip& clip) {
  Need need;
  const auto add = [&](const char* entry) {
    const PlanDescription plan = describe_plan(
        options.weights, {.entry = entry, .height = clip.height, .width = clip.width}, way);
    need.results = std::max(need.results, bytes_of_results(plan));
    if (way.device == "cpu") need.side += static_cast<double>(plan.memory.total());
  };
  if (model.encoder_base_dim != 0) add("encode.next");
  if (model.decoder_base_dim != 0) add("decode.next");
  return need;
}

}  // namespace

void check_memory(const Options& options, const Ways& ways, const CheckpointDescription& model,
                  const CheckInput& input) {
  const CheckClip& clip = input.clip();
  const Need reference = need_of(options, ways.reference, model, clip);
  const Need tested = need_of(options, ways.tested, model, clip);
  const double needed = reference.results + reference.side + tested.side + input.bytes();
  const auto there = static_cast<double>(total_memory());
  if (needed <= there) return;
  fail(ErrorCode::kOutOfMemory,
       "check: {} frame{} of {}x{} need{} {:.0f} MiB of this machine's {:.0f} MiB: {:.0f} for "
       "values of steps that are compared, {:.0f} for the clip; use a smaller --size{}",
       clip.frames, clip.frames == 1 ? "" : "s", clip.width, clip.height,
       clip.frames == 1 ? "s" : "", mebibytes(needed), mebibytes(there),
       mebibytes(reference.results), mebibytes(input.bytes()),
       clip.frames == 1 ? "" : " or fewer --frames");
}

}  // namespace zoetrope::cli
