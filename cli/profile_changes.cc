// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cli/report.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

double seconds_in(const EarlierResult& earlier, const Json& item) {
  const auto seconds = item.find("seconds");
  if (seconds == item.end() || !seconds->is_number()) earlier.refuse("a step without seconds");
  const double value = *seconds;
  if (!std::isfinite(value) || value < 0) {
    earlier.refuse(fmt::format("a step of {} seconds", value));
  }
  return value;
}

std::map<std::string, double> steps_of(const EarlierResult& earlier) {
  const auto list = earlier.content().find("steps");
  if (list == earlier.content().end() || !list->is_array()) earlier.refuse("no \"steps\"");
  std::map<std::string, double> steps;
  for (const Json& item : *list) {
    const auto name = item.is_object() ? item.find("name") : item.end();
    if (!item.is_object() || name == item.end() || !name->is_string()) {
      earlier.refuse("a step without a name");
    }
    steps[one_line(name->get<std::string>())] = seconds_in(earlier, item);
  }
  return steps;
}

std::string cell(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.2f}", *seconds * 1e3) : "-";
}

std::string line(const StepChange& change, size_t width) {
  return fmt::format("{:<{}}{:>11}{:>11}{:>+11.2f}   {}\n", change.name, width, cell(change.before),
                     cell(change.now), change.difference() * 1e3, change_text(change));
}

}  // namespace

ProfileChanges changes_since(const EarlierResult& earlier, const StepProfile& profile) {
  std::map<std::string, double> before = steps_of(earlier);
  const auto total = earlier.content().find("total");
  if (total == earlier.content().end() || !total->is_object()) earlier.refuse("no \"total\"");
  ProfileChanges changes = {.total = {.name = "total",
                                      .before = seconds_in(earlier, *total),
                                      .now = profile.total().seconds},
                            .steps = {}};
  for (const Group& step : profile.steps()) {
    const auto found = before.find(step.name);
    StepChange change = {.name = step.name, .before = {}, .now = step.seconds};
    if (found != before.end()) {
      change.before = found->second;
      before.erase(found);
    }
    changes.steps.push_back(change);
  }
  for (const auto& [name, seconds] : before) {
    changes.steps.push_back({.name = name, .before = seconds, .now = {}});
  }
  std::ranges::stable_sort(changes.steps, std::greater(),
                           [](const StepChange& change) { return std::abs(change.difference()); });
  return changes;
}

std::string change_text(const StepChange& change) {
  if (!change.before) return "new";
  if (!change.now) return "gone";
  const double ratio = *change.now / *change.before;
  if (!std::isfinite(ratio)) return "-";
  constexpr double kEqual = 0.005;  // shown as a difference from here on
  const char* word = std::abs(ratio - 1) < kEqual ? "= same" : ratio < 1 ? "▲ faster" : "▼ slower";
  return fmt::format("{:.3f} {}", ratio, word);
}

std::string changes_table(const ProfileChanges& changes, const EarlierResult& earlier,
                          size_t count) {
  size_t width = 16;
  for (const StepChange& change : changes.steps) width = std::max(width, change.name.size() + 1);
  const std::string date = earlier.date();
  std::string text = fmt::format(
      "\nnow / {}{}, the largest differences\n{:<{}}{:>11}{:>11}{:>11}\n", one_line(earlier.path()),
      date.empty() ? "" : " of " + date, "", width, "before, ms", "now, ms", "more");
  for (size_t i = 0; i < std::min(count, changes.steps.size()); ++i) {
    text += line(changes.steps[i], width);
  }
  return text + line(changes.total, width);
}

}  // namespace zoetrope::cli
