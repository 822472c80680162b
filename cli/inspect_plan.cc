// SPDX-License-Identifier: Apache-2.0
// How a model is compiled, for people and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/fail.h"
#include "cli/inspect.h"
#include "cli/report.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

constexpr double kMebi = 1 << 20;

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / kMebi; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Prints `after`, its new lines marked +, and between them the lines that went, marked -: along the
// longest common subsequence.
void print_difference(const std::vector<std::string>& before,
                      const std::vector<std::string>& after) {
  const size_t rows = before.size(), columns = after.size();
  // common[i][j]: lines that before[i..] and after[j..] share.
  std::vector<std::vector<int>> common(rows + 1, std::vector<int>(columns + 1));
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1
                                           : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && before[i] == after[j]) {
      print(fmt::format("  {}\n", one_line(after[j++])));
      ++i;
    } else if (j == columns || (i < rows && common[i + 1][j] >= common[i][j + 1])) {
      print(fmt::format("- {}\n", one_line(before[i++])));
    } else {
      print(fmt::format("+ {}\n", one_line(after[j++])));
    }
  }
}

// Where `name` stands among the passes; 0 is the Graph before the first.
size_t position_of(const std::vector<GraphDescription>& graphs, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 1; i < graphs.size(); ++i) {
    if (graphs[i].pass == name) return i;
    names.push_back(graphs[i].pass);
  }
  fail(ErrorCode::kInvalidArgument, "--pass {}: no compiler pass has this name; there are {}", name,
       fmt::join(names, ", "));
}

Json to_json(const GraphDescription& graph) {
  return {{"pass", graph.pass},           {"summary", graph.summary}, {"disabled", graph.disabled},
          {"changes", graph.changes},     {"seconds", graph.seconds}, {"ops", graph.ops},
          {"graph", lines_of(graph.text)}};
}

void print_pass(const GraphDescription& before, const GraphDescription& after) {
  print(fmt::format("{}{}: {}; {} changes, {} ops become {}\n", after.pass,
                    after.disabled ? " (disabled)" : "", after.summary, after.changes, before.ops,
                    after.ops));
  print_difference(lines_of(before.text), lines_of(after.text));
}

void print_passes(const std::vector<GraphDescription>& graphs) {
  print(fmt::format("  {:<18}{:>6}{:>9}{:>8}  {}\n", "pass", "ops", "changes", "ms", "does"));
  for (const GraphDescription& graph : graphs) {
    if (graph.pass.empty()) {
      print(fmt::format("  {:<18}{:>6}\n", "(as published)", graph.ops));
      continue;
    }
    print(fmt::format("  {:<18}{:>6}{:>9}{:>8.2f}  {}\n", graph.pass, graph.ops,
                      graph.disabled ? "off" : fmt::format("{}", graph.changes),
                      1e3 * graph.seconds, graph.summary));
  }
}

Json to_json(const ValueShape& shape) {
  return {shape.frames, shape.height, shape.width, shape.channels};
}

Json to_json(const StepDescription& step) {
  return {{"name", step.name},       {"op", step.op},
          {"kernel", step.kernel},   {"attributes", step.attributes},
          {"buffers", step.buffers}, {"constants", step.constants},
          {"refused", step.refused}, {"flops", step.flops},
          {"bytes", step.bytes}};
}

Json to_json(const BufferDescription& buffer) {
  return {{"name", buffer.name},
          {"kind", buffer.kind},
          {"dtype", name_of(buffer.dtype)},
          {"shape", to_json(buffer.shape)},
          {"bytes", buffer.bytes},
          {"offset", buffer.offset},
          {"live", {buffer.first_step, buffer.last_step}}};
}

Json to_json(const MemoryNeeded& memory) {
  return {{"weights", memory.weights}, {"state", memory.state},     {"arena", memory.arena},
          {"staging", memory.staging}, {"scratch", memory.scratch}, {"total", memory.total()}};
}

Json to_json(const std::string& file, const PlanDescription& plan, const PlanRequest& request) {
  Json json = {{"file", file},
               {"kind", "plan"},
               {"entry", plan.entry},
               {"target", plan.target},
               {"dtype", name_of(plan.dtype)},
               {"fingerprint", plan.fingerprint},
               {"height", request.height},
               {"width", request.width},
               {"frames", request.frames},
               {"latent_frames", plan.latent_frames},
               {"flops", plan.flops},
               {"bytes", plan.bytes},
               {"video_flops", plan.video_flops},
               {"video_published_flops", plan.video_published_flops},
               {"memory", to_json(plan.memory)},
               {"segments", Json::array()},
               {"steps", Json::array()},
               {"buffers", Json::array()},
               {"constants", Json::array()}};
  for (const SegmentDescription& segment : plan.segments) {
    json["segments"].push_back({{"first_step", segment.first_step},
                                {"steps", segment.steps},
                                {"reach", segment.whole_frame ? "frame" : "local"},
                                {"halo", segment.halo}});
  }
  for (const StepDescription& step : plan.steps) json["steps"].push_back(to_json(step));
  for (const BufferDescription& buffer : plan.buffers) json["buffers"].push_back(to_json(buffer));
  for (const ConstantDescription& constant : plan.constants) {
    json["constants"].push_back(
        {{"name", constant.name}, {"layout", constant.layout}, {"bytes", constant.bytes}});
  }
  return json;
}

void print_totals(const PlanDescription& plan, const PlanRequest& request) {
  print_row("video", fmt::format("{}x{}, {} frames: {:.2f} TFLOP as planned, {:.2f} as published",
                                 request.width, request.height, request.frames,
                                 1e-12 * plan.video_flops, 1e-12 * plan.video_published_flops));
  print_row("step", fmt::format("{} latent frame{}: {:.1f} GFLOP, {:.2f} GB read and written",
                                plan.latent_frames, plan.latent_frames == 1 ? "" : "s",
                                1e-9 * plan.flops, 1e-9 * plan.bytes));
  const MemoryNeeded& memory = plan.memory;
  print_row(
      "memory",
      fmt::format("{:.1f} MiB: weights {:.1f}, histories {:.1f}, values {:.1f}, frames held "
                  "back {:.1f}, scratch {:.1f}",
                  mebibytes(memory.total()), mebibytes(memory.weights), mebibytes(memory.state),
                  mebibytes(memory.arena), mebibytes(memory.staging), mebibytes(memory.scratch)));
}

void print_segments(const PlanDescription& plan) {
  print("\nsegments\n");
  for (const SegmentDescription& segment : plan.segments) {
    const std::string reach =
        segment.whole_frame ? "the whole frame" : fmt::format("{} pixels around", segment.halo);
    print(fmt::format("  steps {} to {}: {}\n", segment.first_step,
                      segment.first_step + segment.steps - 1, reach));
  }
}

// "x 3, history 4 -> y 5"
std::string operands_text(const StepDescription& step) {
  std::string reads;
  std::string writes;
  for (const auto& [role, index] : step.buffers) {
    const bool result = role == "y" || role == "activated" ||
                        (role == "history" && step.op == "carry") || role == "workspace";
    std::string& text = result ? writes : reads;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", role, index);
  }
  return fmt::format("{} -> {}", reads, writes);
}

void print_steps(const PlanDescription& plan) {
  size_t name = 4, kernel = 6;
  for (const StepDescription& step : plan.steps) {
    name = std::max(name, step.name.size());
    kernel = std::max(kernel, step.kernel.size());
  }
  print(
      fmt::format("\nsteps, the buffers they read and write, and the kernels that came before "
                  "theirs and refused\n  {:>3}  {:<9}  {:<{}}  {:<{}}  {:>8}  {:>8}  {}\n",
                  "#", "op", "name", name, "kernel", kernel, "GFLOP", "MB", "buffers"));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const StepDescription& step = plan.steps[i];
    print(fmt::format("  {:>3}  {:<9}  {:<{}}  {:<{}}  {:>8.2f}  {:>8.1f}  {}\n", i, step.op,
                      one_line(step.name), name, step.kernel, kernel, 1e-9 * step.flops,
                      1e-6 * step.bytes, operands_text(step)));
    for (const std::string& refused : step.refused) {
      print(fmt::format("  {:>3}    not {}\n", "", refused));
    }
  }
}

void print_buffers(const PlanDescription& plan) {
  size_t name = 4;
  for (const BufferDescription& buffer : plan.buffers) name = std::max(name, buffer.name.size());
  print(fmt::format("\nbuffers\n  {:>3}  {:<6}  {:<{}}  {:<9}  {:<22}  {:>9}  {:>9}  {}\n", "#",
                    "kind", "name", name, "type", "shape", "MiB", "at MiB", "steps"));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferDescription& buffer = plan.buffers[i];
    const ValueShape& shape = buffer.shape;
    print(fmt::format(
        "  {:>3}  {:<6}  {:<{}}  {:<9}  {:<22}  {:>9.2f}  {:>9.2f}  {} to {}\n", i, buffer.kind,
        one_line(buffer.name), name, name_of(buffer.dtype),
        fmt::format("{} x {} x {} x {}", shape.frames, shape.height, shape.width, shape.channels),
        mebibytes(buffer.bytes), mebibytes(buffer.offset), buffer.first_step, buffer.last_step));
  }
}

// What layouts the constants are packed in, with how many bytes.
void print_layouts(const PlanDescription& plan) {
  struct Sum {
    int64_t count = 0;
    int64_t bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const ConstantDescription& constant : plan.constants) {
    Sum& sum = sums[constant.layout];
    ++sum.count;
    sum.bytes += constant.bytes;
  }
  print("\nconstants, by layout\n");
  for (const auto& [layout, sum] : sums) {
    print(fmt::format("  {:<36}{:>5}{:>11.2f} MiB\n", layout, sum.count, mebibytes(sum.bytes)));
  }
}

}  // namespace

void inspect_graph(const std::string& file, const Options& options) {
  const std::string& entry = options.compiled.graph;
  const std::string& pass = options.compiled.pass;
  std::vector<GraphDescription> graphs = describe_graphs(file, entry, options.load);
  if (!pass.empty()) {
    const auto at = graphs.begin() + static_cast<std::ptrdiff_t>(position_of(graphs, pass));
    graphs = {*(at - 1), *at};
  }
  if (options.json) {
    Json json = {{"file", file}, {"kind", "graph"}, {"entry", entry}, {"graphs", Json::array()}};
    for (const GraphDescription& graph : graphs) json["graphs"].push_back(to_json(graph));
    return print_json(json);
  }
  print(fmt::format("{}: {}\n", one_line(file), entry));
  if (!pass.empty()) return print_pass(graphs[0], graphs[1]);
  print_passes(graphs);
  print("\n" + graphs.back().text);
}

void inspect_plan(const std::string& file, const Options& options) {
  const PlanRequest& request = options.compiled.plan;
  const PlanDescription plan = describe_plan(file, request, options.load);
  if (options.json) return print_json(to_json(file, plan, request));
  print(fmt::format("{}: {} for {} in {}, fingerprint {}\n", one_line(file), plan.entry,
                    plan.target, name_of(plan.dtype), plan.fingerprint));
  print_totals(plan, request);
  print_segments(plan);
  print_steps(plan);
  print_buffers(plan);
  print_layouts(plan);
}

}  // namespace zoetrope::cli
