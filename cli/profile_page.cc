// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/profile_charts.h"
#include "cli/svg.h"
#include "zoetrope/version.h"

namespace zoetrope::cli {
namespace {

constexpr size_t kNumbered = 10;  // of the slowest steps, in tables and pictures
constexpr size_t kChanges = 20;   // rows of the comparison

// Colours are told apart by the eye that sees no red or no green, on both backgrounds, and never
// say anything alone: each has its word beside it.
constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1b1f; --quiet: #5a5a66;
  --line: #d9d9e0; --stripe: #f4f4f7; --conv: #1668b8; --attention: #c2500a; --other: #1f8a5b;
  --copy: #8a4fb5; --on: #ffffff; --roof: #55555f; --good: #17693f; --bad: #a8321a; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16161a; --text: #ececf1; --quiet: #a9a9b6; --line: #3a3a44; --stripe: #1f1f25;
    --conv: #6db3f5; --attention: #ff9d5c; --other: #5ccf9a; --copy: #cf9df5; --on: #16161a;
    --roof: #b9b9c6; --good: #6fd6a2; --bad: #ff9a85; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1rem 3rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; }
p { margin: .4rem 0; }
.quiet, figcaption, caption { color: var(--quiet); }
figure { margin: .5rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: .875rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .22rem .55rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .left { text-align: left; }
td { vertical-align: top; }
.name span { font-size: .8rem; }
thead th { border-bottom: 1px solid var(--line); font-weight: 600; vertical-align: bottom; }
tbody tr:nth-child(odd) { background: var(--stripe); }
tr.total { font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
.bar { display: inline-block; height: .6rem; border-radius: 2px; vertical-align: middle; }
svg { display: block; width: 100%; min-width: 42rem; height: auto; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; }
svg .tick, svg .axis { fill: var(--quiet); font-size: 12px; }
svg .number { font-weight: 700; font-size: 12px; }
svg .on { fill: var(--on); font-weight: 700; font-size: 12px; }
.grid { stroke: var(--line); stroke-width: 1; }
.roof { fill: none; stroke: var(--roof); stroke-width: 2; }
.area { fill: var(--conv); fill-opacity: .3; stroke: var(--conv); stroke-width: 1.5; }
circle { fill-opacity: .75; stroke: var(--back); stroke-width: 1; }
.conv { fill: var(--conv); background: var(--conv); }
.attention { fill: var(--attention); background: var(--attention); }
.other { fill: var(--other); background: var(--other); }
.copy { fill: var(--copy); background: var(--copy); }
.legend { display: flex; flex-wrap: wrap; gap: 1.2rem; list-style: none; margin: .3rem 0;
  padding: 0; font-size: .875rem; }
.swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: 50%;
  margin-right: .4rem; }
summary { cursor: pointer; }
</style>
)";

std::string header(const ProfilePage& page) {
  const auto& context = page.context;
  const auto text = [&](const char* field) {
    return escaped(context.at(field).is_string() ? context.at(field).get<std::string>()
                                                 : context.at(field).dump());
  };
  const std::string passes = text("disabled_passes");
  return fmt::format(
      "<title>{0}: where the time goes</title>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n"
      "<p class=\"quiet\">zoetrope {1}, {2}, {3} on {4}{5}, weights {6}</p>\n",
      escaped(page.job.name()), version(), text("date"), text("device"), text("processor"),
      passes.empty() ? "" : ", without the passes " + passes, text("weights_checksum"));
}

std::string sentence(const ProfilePage& page) {
  const double seconds = page.profile.total().seconds;
  const double rate = page.job.arithmetic() / seconds;
  const MemoryNeeded memory = page.job.memory();
  const auto mebibytes = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return fmt::format(
      "<p>{} frames in {:.4g} s: {:.3g} frames/s. The published model's {:.4g} TFLOP at {:.4g} "
      "TFLOP/s are {:.1f} % of the measured peak of {:.4g} TFLOP/s. Memory: weights {:.1f} MiB, "
      "histories {:.1f} MiB, values {:.1f} MiB, staging {:.1f} MiB, scratch {:.1f} MiB.</p>\n",
      page.job.frames(), seconds, static_cast<double>(page.job.frames()) / seconds,
      page.job.arithmetic() / 1e12, rate / 1e12, 100 * rate / page.roofline.flops,
      page.roofline.flops / 1e12, mebibytes(memory.weights), mebibytes(memory.state),
      mebibytes(memory.arena), mebibytes(memory.staging), mebibytes(memory.scratch));
}

// Headings that begin with "<" are set to the left.
std::string table_head(const std::string& caption, const std::vector<std::string_view>& headings) {
  std::string text =
      fmt::format("<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>", caption);
  for (std::string_view heading : headings) {
    const bool left = heading.starts_with('<');
    if (left) heading.remove_prefix(1);
    text += fmt::format("<th scope=\"col\"{}>{}</th>", left ? " class=\"left\"" : "", heading);
  }
  return text + "</tr></thead>\n<tbody>\n";
}

constexpr const char* kTableEnd = "</tbody></table></div>\n";

// TFLOP/s and the like; a dash where nothing was counted.
std::string figures(const Group& step, const Roofline& roofline) {
  if (step.calls == 0) return "<td>–</td><td>–</td><td>–</td><td>–</td>";
  return fmt::format("<td>{:.2f}</td><td>{:.4f}</td><td>{:.2f}</td><td>{:.1f} %</td>",
                     step.flops / 1e9, ratio(step.flops, step.seconds) / 1e12,
                     ratio(step.bytes, step.seconds) / 1e9,
                     100 * ratio(step.least(roofline), step.seconds));
}

std::string step_row(const Group& step, size_t number, const ProfilePage& page) {
  constexpr double kLongestBar = 4;  // rem
  const double slowest = page.profile.steps().front().seconds;
  return fmt::format(
      "<tr><td>{}</td><td class=\"left name\">{}<br><span class=\"quiet\">{}</span></td>"
      "<td>{:.6g}</td><td>{:.2f}</td><td class=\"left\"><span class=\"bar {}\" "
      "style=\"width:{:.2f}rem\"></span> {:.1f} %</td>{}</tr>\n",
      number, escaped(step.name), escaped(step.kernel), step.calls, step.seconds * 1e3,
      name_of(step.kind), kLongestBar * ratio(step.seconds, slowest),
      100 * ratio(step.seconds, page.profile.total().seconds), figures(step, page.roofline));
}

std::string sum_row(const Group& sum, const ProfilePage& page) {
  return fmt::format(
      "<tr class=\"total\"><td></td><td class=\"left name\">{}</td><td>{:.6g}</td><td>{:.2f}</td>"
      "<td class=\"left\">{:.1f} %</td>{}</tr>\n",
      sum.name, sum.calls, sum.seconds * 1e3,
      100 * ratio(sum.seconds, page.profile.total().seconds), figures(sum, page.roofline));
}

const std::vector<std::string_view> kStepHeadings = {
    "#",     "<step, kernel", "calls", "ms",         "<share of the time",
    "GFLOP", "TFLOP/s",       "GB/s",  "of roofline"};

std::string slowest(const ProfilePage& page) {
  const std::vector<Group>& steps = page.profile.steps();
  std::string text = "<h2>Slowest steps</h2>\n";
  text += table_head(fmt::format("The {} slowest of {} steps, and sums over all",
                                 std::min(kNumbered, steps.size()), steps.size()),
                     kStepHeadings);
  for (size_t i = 0; i < std::min(kNumbered, steps.size()); ++i) {
    text += step_row(steps[i], i + 1, page);
  }
  for (const Group& group : page.profile.summary()) text += sum_row(group, page);
  return text + kTableEnd;
}

std::string figure(const std::string& picture, const std::string& caption) {
  return fmt::format("<figure><div class=\"wide\">\n{}</div><figcaption>{}</figcaption></figure>\n",
                     picture, caption);
}

std::string roofline_section(const ProfilePage& page) {
  return "<h2>Roofline</h2>\n" + legend() +
         figure(roofline_chart(page.profile.steps(), page.roofline, kNumbered),
                "Each dot is a step, its area the time it takes, its number that of the table. "
                "Under the slope the memory is the limit, under the flat roof the arithmetic. "
                "Convs named winograd need fewer multiplications than they are counted for and may "
                "stand above the roof. Steps without counted arithmetic stand at the left edge: "
                "their distance to the slope is that to the memory's speed.");
}

// The last walk through an entry: of a clip of one frame the first, else one with history.
std::string timeline_section(const ProfilePage& page) {
  const std::vector<EntryRun> runs = page.timeline.runs();
  if (runs.empty()) return "";
  const EntryRun& run = runs.back();
  return fmt::format("<h2>Time line of {}</h2>\n", escaped(run.entry)) + legend() +
         figure(timeline_chart(page.timeline, run, page.profile.steps(), kNumbered),
                fmt::format("The last of {} walks through an entry in one run.", runs.size())) +
         "<h2>Memory over time</h2>\n" +
         figure(memory_chart(page.timeline, run),
                "Bytes that the values of this walk hold, as planned, on the same time line; "
                "weights and histories do not change and come on top.");
}

std::string change_row(const StepChange& change, bool total) {
  const auto cell = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.2f}", *seconds * 1e3) : std::string("–");
  };
  const std::string text = change_text(change);
  const char* color = text.find("faster") != std::string::npos   ? "good"
                      : text.find("slower") != std::string::npos ? "bad"
                                                                 : "";
  return fmt::format(
      "<tr{}><td class=\"left name\">{}</td><td>{}</td><td>{}</td><td>{:+.2f}</td>"
      "<td class=\"left {}\">{}</td></tr>\n",
      total ? " class=\"total\"" : "", escaped(change.name), cell(change.before), cell(change.now),
      change.difference() * 1e3, color, text);
}

std::string comparison(const ProfilePage& page) {
  if (page.earlier == nullptr) return "";
  const ProfileChanges changes = changes_since(*page.earlier, page.profile);
  std::string text = fmt::format("<h2>Compared with {}</h2>\n", escaped(page.earlier->path()));
  const std::string date = page.earlier->date();
  if (!date.empty()) text += fmt::format("<p>Measured {}.</p>\n", escaped(date));
  for (const std::string& difference : page.earlier->check(page.context)) {
    text += fmt::format("<p>Not the same: {}.</p>\n", escaped(difference));
  }
  text += table_head("The largest differences, and all steps with the time between them",
                     {"<step", "before, ms", "now, ms", "difference, ms", "<now / before"});
  text += change_row(changes.total, true);
  for (size_t i = 0; i < std::min(kChanges, changes.steps.size()); ++i) {
    text += change_row(changes.steps[i], false);
  }
  return text + kTableEnd;
}

std::string all_steps(const ProfilePage& page) {
  const std::vector<Group>& steps = page.profile.steps();
  std::string text = "<h2>All steps</h2>\n<details><summary>A table of all steps</summary>\n";
  text += table_head("Averages of one run, the slowest first", kStepHeadings);
  for (size_t i = 0; i < steps.size(); ++i) text += step_row(steps[i], i + 1, page);
  return text + kTableEnd + "</details>\n";
}

}  // namespace

std::string to_html(const ProfilePage& page) {
  return kHead + header(page) + sentence(page) + slowest(page) + comparison(page) +
         roofline_section(page) + timeline_section(page) + all_steps(page) +
         "</main>\n</body>\n</html>\n";
}

}  // namespace zoetrope::cli
