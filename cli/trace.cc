// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;
enum Track { kEntries = 1, kSteps = 2, kCopies = 3 };

// The format counts microseconds.
double micro(double seconds) { return seconds * 1e6; }

Json name_of_track(const char* what, int track, const std::string& name) {
  return {
      {"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

// Shows tracks in the order of their numbers.
Json place_of_track(int track) {
  return {{"ph", "M"},
          {"pid", kProcess},
          {"tid", track},
          {"name", "thread_sort_index"},
          {"args", {{"sort_index", track}}}};
}

Json slice(const std::string& name, const char* category, int track, double start, double end) {
  return {{"ph", "X"},
          {"pid", kProcess},
          {"tid", track},
          {"name", name},
          {"cat", category},
          {"ts", micro(start)},
          {"dur", micro(end - start)}};
}

Json step_slice(const TimedStep& step, const Roofline& roofline) {
  const bool copy = step.kind == StepKind::kCopy;
  Json event = slice(copy ? step.op + " " + step.name : step.name, copy ? "copy" : "step",
                     copy ? kCopies : kSteps, step.start, step.end());
  const double least = std::max(step.flops / roofline.flops, step.bytes / roofline.bytes);
  event["args"] = {{"entry", step.entry},
                   {"op", step.op},
                   {"layer", step.layer},
                   {"GFLOP", step.flops / 1e9},
                   {"MB", step.bytes / 1e6},
                   {"TFLOP/s", ratio(step.flops, step.seconds) / 1e12},
                   {"GB/s", ratio(step.bytes, step.seconds) / 1e9},
                   {"share_of_roofline", ratio(least, step.seconds)}};
  return event;
}

// Bytes from here on.
Json counter(double time, int64_t values, const MemoryNeeded& memory) {
  return {{"ph", "C"},
          {"pid", kProcess},
          {"name", "memory (bytes)"},
          {"ts", micro(time)},
          {"args", {{"values", values}, {"histories", memory.state}, {"weights", memory.weights}}}};
}

}  // namespace

Json trace_of(const Timeline& timeline, const MeasuredJob& job, const Roofline& roofline,
              const Json& context) {
  const std::string device = job.info().device;
  Json events = Json::array();
  events.push_back(name_of_track("process_name", 0, "zoetrope " + job.name()));
  events.push_back(name_of_track("thread_name", kEntries, "entries"));
  events.push_back(name_of_track("thread_name", kSteps, fmt::format("steps, {} stream", device)));
  events.push_back(name_of_track("thread_name", kCopies, fmt::format("copies, {} stream", device)));
  for (const int track : {kEntries, kSteps, kCopies}) events.push_back(place_of_track(track));
  const std::vector<TimedStep>& steps = timeline.steps();
  for (const EntryRun& run : timeline.runs()) {
    events.push_back(
        slice(run.entry, "entry", kEntries, steps[run.first].start, steps[run.last - 1].end()));
  }
  for (const TimedStep& step : steps) {
    events.push_back(step_slice(step, roofline));
    events.push_back(counter(step.start, step.memory, job.memory()));
  }
  if (!steps.empty()) events.push_back(counter(steps.back().end(), 0, job.memory()));
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}, {"otherData", context}};
}

}  // namespace zoetrope::cli
