// SPDX-License-Identifier: Apache-2.0
#include "cli/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace zoetrope::cli {
namespace {

std::string size_text(const ValueShape& shape) {
  return fmt::format("{}x{}", shape.width, shape.height);
}

std::string step_name(const StepEvent& event) {
  return fmt::format("{} {} {}", event.entry, event.op, event.name);
}

std::string row_name(const StepEvent& event, ProfileRow row) {
  switch (row) {
    case ProfileRow::kLayer:
      return layer_name(event);
    case ProfileRow::kKernel:
      return std::string(event.kernel);
    case ProfileRow::kStep:
      break;
  }
  return step_name(event);
}

void add_to(std::map<std::string, Group>& groups, const std::string& name, const StepEvent& event) {
  const auto [found, fresh] = groups.try_emplace(name, Group{.name = name});
  if (fresh) {
    found->second.kind = kind_of(event);
    found->second.kernel = event.kernel;
  }
  found->second.add(event);
}

}  // namespace

StepKind kind_of(const StepEvent& event) {
  if (event.op == "conv") return StepKind::kConv;
  if (event.op == "attention") return StepKind::kAttention;
  return event.op.starts_with("copy_") ? StepKind::kCopy : StepKind::kOther;
}

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::kConv:
      return "conv";
    case StepKind::kAttention:
      return "attention";
    case StepKind::kCopy:
      return "copy";
    case StepKind::kOther:
      break;
  }
  return "other";
}

void Group::add(const StepEvent& event) {
  calls += 1;
  seconds += event.seconds;
  flops += event.flops;
  bytes += event.bytes;
  works[{event.flops, event.bytes}] += 1;
}

void Group::add(const Group& other) {
  calls += other.calls;
  seconds += other.seconds;
  flops += other.flops;
  bytes += other.bytes;
  for (const auto& [work, count] : other.works) works[work] += count;
}

void Group::divide(double runs) {
  for (double* sum : {&calls, &seconds, &flops, &bytes}) *sum /= runs;
  for (auto& [work, count] : works) count /= runs;
}

double Group::least(const Roofline& roofline) const {
  double sum = 0;
  for (const auto& [work, count] : works) {
    sum += count * std::max(work.first / roofline.flops, work.second / roofline.bytes);
  }
  return sum;
}

std::string layer_name(const StepEvent& event) {
  std::string name(event.kernel);
  if (event.taps_time > 0) {
    name += fmt::format(" {}x{}x{}", event.taps_time, event.taps_height, event.taps_width);
  }
  name += fmt::format(" {}->{} {}", event.x.channels, event.y.channels, size_text(event.x));
  if (size_text(event.x) != size_text(event.y)) name += fmt::format("->{}", size_text(event.y));
  return name;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void StepProfile::add(const StepEvent& event) {
  add_to(by_row_, row_name(event, row_), event);
  add_to(by_step_, step_name(event), event);
  (kind_of(event) == StepKind::kConv ? convs_ : others_).add(event);
}

std::vector<Group> StepProfile::averages(Groups& groups, double runs) {
  std::vector<Group> rows;
  for (auto& [name, group] : groups) {
    group.divide(runs);
    rows.push_back(group);
  }
  std::ranges::stable_sort(rows, std::greater(), &Group::seconds);
  return rows;
}

void StepProfile::finish(double seconds, double runs) {
  rows_ = averages(by_row_, runs);
  steps_ = averages(by_step_, runs);
  convs_.divide(runs);
  others_.divide(runs);
  total_.add(convs_);
  total_.add(others_);
  outside_.seconds = seconds / runs - total_.seconds;
  total_.seconds = seconds / runs;
}

}  // namespace zoetrope::cli
