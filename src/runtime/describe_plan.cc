// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "compiler/memory_plan.h"
#include "compiler/pipeline.h"
#include "graph/text.h"
#include "runtime/backends.h"
#include "runtime/boundary.h"
#include "runtime/load.h"
#include "runtime/module_file.h"
#include "runtime/stream_core.h"
#include "runtime/weights.h"
#include "zoetrope/tools.h"

namespace zoetrope {
namespace {

using models::Entry;

constexpr std::array kEntries = {Entry::kEncodeFirst, Entry::kEncodeNext, Entry::kDecodeFirst,
                                 Entry::kDecodeNext};

Entry entry_named(const std::string& name) {
  for (const Entry entry : kEntries) {
    if (name == models::name_of(entry)) return entry;
  }
  fail(ErrorCode::kInvalidArgument,
       "expected an entry of encode.first, encode.next, decode.first or decode.next, found {}",
       printable(name));
}

bool encodes(Entry entry) { return entry == Entry::kEncodeFirst || entry == Entry::kEncodeNext; }
bool is_first(Entry entry) { return entry == Entry::kEncodeFirst || entry == Entry::kDecodeFirst; }

// The half of an entry, planned for the target that the weights or the options ask for.
struct PlannedHalf {
  std::unique_ptr<const Target> target;
  LoadOptions options;
  PlannedModel model;

  const PlannedCodec& codec() const { return model.encode ? *model.encode : *model.decode; }
  DType operands() const {
    return model.encode ? model.info.encode_dtype : model.info.decode_dtype;
  }
};

PlannedHalf plan_half(const std::string& weights, Entry entry, LoadOptions options) {
  options.encoder = encodes(entry);
  options.decoder = !encodes(entry);
  PlannedHalf half;
  const std::shared_ptr<const ModuleFile> module = open_module(weights);
  half.options = module == nullptr ? options : options_of(*module, options);
  half.target = target_of(half.options);
  half.model = module == nullptr ? plan_model(open_weights(weights), *half.target, half.options)
                                 : plan_module(module, *half.target, half.options);
  return half;
}

GraphDescription describe_graph(const graph::Graph& graph) {
  return {.ops = static_cast<int64_t>(graph.ops.size()), .text = graph::to_text(graph)};
}

std::vector<GraphDescription> graphs_of(const std::string& weights, const std::string& entry,
                                        const LoadOptions& options) {
  const Entry asked = entry_named(entry);
  const PlannedHalf half = plan_half(weights, asked, options);
  const PlannedCodec& codec = half.codec();
  graph::Graph graph = is_first(asked) ? codec.first.model : codec.next.model;
  std::vector<GraphDescription> graphs = {describe_graph(graph)};
  const compiler::PassContext context = {.target = *half.target, .operands = half.operands()};
  for (const compiler::Pass& pass : compiler::passes()) {
    const std::vector<std::string>& off = half.options.disabled_passes;
    const bool disabled = std::ranges::find(off, pass.name) != off.end();
    compiler::PassReport report;
    if (!disabled) report = compiler::run_pass(graph, pass, context);
    GraphDescription description = describe_graph(graph);
    description.pass = pass.name;
    description.summary = pass.summary;
    description.disabled = disabled;
    description.changes = report.changes;
    description.seconds = report.seconds;
    graphs.push_back(std::move(description));
  }
  return graphs;
}

class PlanDescriber {
 public:
  PlanDescriber(const PlannedHalf& half, Entry entry, const PlanRequest& request)
      : half_(half),
        request_(request),
        n_(is_first(entry) ? 1 : request.latent_frames),
        plan_(is_first(entry) ? half.codec().first.plan : half.codec().next.plan) {}

  PlanDescription describe() const {
    PlanDescription description = {.entry = plan_.entry,
                                   .target = plan_.target,
                                   .dtype = half_.operands(),
                                   .fingerprint = fingerprint(plan_),
                                   .latent_frames = n_};
    for (const Segment& segment : plan_.segments) {
      description.segments.push_back({.first_step = segment.first_step,
                                      .steps = segment.step_count,
                                      .whole_frame = segment.reach == Reach::kFrame,
                                      .halo = segment.halo});
    }
    for (const Step& step : plan_.steps) {
      description.steps.push_back(describe(step));
      description.flops += description.steps.back().flops;
      description.bytes += description.steps.back().bytes;
    }
    const auto layout = compiler::memory_plan(plan_, n_, request_.height, request_.width);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      description.buffers.push_back(describe(plan_.buffers[i], layout.offsets[i]));
    }
    for (const PackedConstant& constant : plan_.constants) {
      description.constants.push_back(
          {.name = constant.name, .layout = constant.layout, .bytes = constant.bytes});
    }
    describe_video(description);
    return description;
  }

 private:
  StepDescription describe(const Step& step) const {
    const Work work = work_of(plan_, step, n_, request_.height, request_.width);
    return {.name = step.name,
            .op = step.op,
            .kernel = step.kernel,
            .attributes = step.attributes,
            .buffers = {step.buffers.begin(), step.buffers.end()},
            .constants = {step.constants.begin(), step.constants.end()},
            .refused = step.refused,
            .flops = work.flops,
            .bytes = work.bytes};
  }

  BufferDescription describe(const Buffer& buffer, int64_t offset) const {
    const Extent& extent = buffer.extent;
    return {.name = buffer.name,
            .kind = name_of(buffer.kind),
            .dtype = extent.dtype,
            .shape = {.frames = extent.frame_count(n_),
                      .height = request_.height / extent.stride,
                      .width = request_.width / extent.stride,
                      .channels = extent.channels},
            .bytes = buffer.bytes(n_, request_.height, request_.width),
            .offset = offset,
            .first_step = buffer.first_step,
            .last_step = buffer.last_step};
  }

  double flops_of(const Plan& plan) const {
    double sum = 0;
    for (const Step& step : plan.steps) {
      sum += work_of(plan, step, 1, request_.height, request_.width).flops;
    }
    return sum;
  }

  void describe_video(PlanDescription& description) const {
    const PlannedCodec& codec = half_.codec();
    const ModelInfo& info = half_.model.info;
    const auto later = static_cast<double>((request_.frames - 1) / info.temporal_stride);
    description.video_flops = flops_of(codec.first.plan) + later * flops_of(codec.next.plan);
    description.video_published_flops =
        model_flops(codec.first.model, request_.height, request_.width) +
        later * model_flops(codec.next.model, request_.height, request_.width);
    description.memory = plan_memory(codec.first.plan, codec.next.plan, request_.latent_frames,
                                     request_.height, request_.width);
    if (half_.model.encode) {
      description.memory.staging =
          (info.temporal_stride - 1) *
          staged_frame_bytes(codec.next.plan, request_.height, request_.width);
    }
    description.memory.scratch = scratch_bytes(*half_.target, codec.first.plan, codec.next.plan,
                                               ThreadPool::count(half_.options.threads));
    std::map<std::string, int64_t> weights;
    for (const PlannedEntry* entry : {&codec.first, &codec.next}) {
      for (const PackedConstant& constant : entry->plan.constants) {
        weights[module_tensor_name(constant.name, constant.layout)] = constant.bytes;
      }
    }
    for (const auto& [name, bytes] : weights) description.memory.weights += bytes;
  }

  const PlannedHalf& half_;
  const PlanRequest& request_;
  int64_t n_;
  const Plan& plan_;
};

PlanDescription plan_of(const std::string& weights, const PlanRequest& request,
                        const LoadOptions& options) {
  constexpr int64_t kMostFrames = int64_t{1} << 40;
  constexpr int64_t kMostLatentFrames = 4096;
  const Entry entry = entry_named(request.entry);
  const PlannedHalf half = plan_half(weights, entry, options);
  const ModelInfo& info = half.model.info;
  check_options(info, {.height = request.height, .width = request.width});
  if (request.frames < 1 || request.frames > kMostFrames ||
      (request.frames - 1) % info.temporal_stride != 0) {
    fail(ErrorCode::kInvalidArgument, "expected {}k + 1 frames, found {}", info.temporal_stride,
         request.frames);
  }
  if (request.latent_frames < 1 || request.latent_frames > kMostLatentFrames) {
    fail(ErrorCode::kInvalidArgument, "expected 1 to {} latent frames a step, found {}",
         kMostLatentFrames, request.latent_frames);
  }
  return PlanDescriber(half, entry, request).describe();
}

}  // namespace

std::vector<GraphDescription> v0::describe_graphs(const std::string& weights,
                                                  const std::string& entry,
                                                  const LoadOptions& options) {
  return at_boundary([&] { return graphs_of(weights, entry, options); });
}

PlanDescription v0::describe_plan(const std::string& weights, const PlanRequest& request,
                                  const LoadOptions& options) {
  return at_boundary([&] { return plan_of(weights, request, options); });
}

}  // namespace zoetrope
