// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "cli/bench_rows.h"
#include "cli/commands.h"
#include "cli/earlier_result.h"
#include "cli/measured_job.h"
#include "cli/model.h"
#include "cli/profile_changes.h"
#include "cli/profile_page.h"
#include "cli/report.h"
#include "cli/result_file.h"
#include "cli/step_profile.h"
#include "cli/timeline.h"
#include "cli/trace.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string table_line(const Group& group, const StepProfile& profile, const Roofline& roofline,
                       size_t width) {
  const double least = group.least(roofline);
  std::string line =
      fmt::format("{:<{}}{:>7.6g}{:>11.2f}{:>8.2f} %", group.name, width, group.calls,
                  group.seconds * 1e3, 100 * ratio(group.seconds, profile.total().seconds));
  if (group.calls == 0) return line + "\n";
  return line + fmt::format("{:>10.2f}{:>9.3f}{:>9.4f}{:>9.2f}{:>11.1f} %\n", group.flops / 1e9,
                            group.bytes / 1e9, ratio(group.flops, group.seconds) / 1e12,
                            ratio(group.bytes, group.seconds) / 1e9,
                            100 * ratio(least, group.seconds));
}

std::string table(const StepProfile& profile, const Roofline& roofline) {
  size_t width = 16;
  for (const Group& group : profile.rows()) width = std::max(width, group.name.size() + 1);
  std::string text =
      fmt::format("{:<{}}{:>7}{:>11}{:>10}{:>10}{:>9}{:>9}{:>9}{:>13}\n", "", width, "calls", "ms",
                  "share", "GFLOP", "GB", "TFLOP/s", "GB/s", "of roofline");
  for (const Group& group : profile.rows()) text += table_line(group, profile, roofline, width);
  text += "\n";
  for (const Group& group : profile.summary()) text += table_line(group, profile, roofline, width);
  return text;
}

Json to_json(const Group& group, const StepProfile& profile, const Roofline& roofline) {
  return {{"name", group.name},
          {"calls", group.calls},
          {"seconds", group.seconds},
          {"share", ratio(group.seconds, profile.total().seconds)},
          {"flops", group.flops},
          {"bytes", group.bytes},
          {"flops_per_second", ratio(group.flops, group.seconds)},
          {"bytes_per_second", ratio(group.bytes, group.seconds)},
          {"share_of_roofline", ratio(group.least(roofline), group.seconds)}};
}

Json to_json(const StepProfile& profile, const Roofline& roofline) {
  Json object = {{"rows", Json::array()}};
  for (const Group& group : profile.rows()) {
    object["rows"].push_back(to_json(group, profile, roofline));
  }
  const std::vector<Group> summary = profile.summary();
  size_t at = 0;
  for (const char* field : {"convs", "other_steps", "outside_steps", "total"}) {
    object[field] = to_json(summary[at++], profile, roofline);
  }
  return object;
}

// Of the steps alone: what --baseline compares, whatever the rows are.
Json steps_json(const StepProfile& profile) {
  Json list = Json::array();
  for (const Group& step : profile.steps()) {
    list.push_back({{"name", step.name},
                    {"calls", step.calls},
                    {"seconds", step.seconds},
                    {"flops", step.flops},
                    {"bytes", step.bytes}});
  }
  return list;
}

class ProfileCommand {
 public:
  explicit ProfileCommand(const Options& options)
      : options_(options),
        file_(options),
        trace_("--trace", options.measure.trace, options.overwrite),
        page_("--html", options.measure.html, options.overwrite),
        report_(options, options.measure.json == "-"),
        profile_(options.measure.row) {
    if (!options.measure.baseline.empty()) {
      earlier_.emplace(options.measure.baseline, "profile", "profile");
    }
  }

  void run() {
    MeasuredJob job(options_, report_, [this](const StepEvent& event) { observe(event); });
    Json context = result_context(options_, job);
    if (earlier_) {
      for (const std::string& difference : earlier_->check(context)) report_.note(difference);
    }
    const std::string title = job_title(job.name(), job);
    measure(job);
    context["model_flops"] = job.arithmetic();
    context["peak_flops_per_second"] = roofline_.flops;
    context["copy_bytes_per_second"] = roofline_.bytes;
    const std::string text = title + text_of(job);
    if (!options_.quiet) std::fputs(text.c_str(), file_.table());
    Json object = to_json(profile_, roofline_);
    object["steps"] = steps_json(profile_);
    file_.write({{"context", context}, {"profile", object}});
    write_pictures(job, context);
  }

 private:
  void observe(const StepEvent& event) {
    profile_.add(event);
    if (trace_.wanted() || page_.wanted()) timeline_.add(event);
  }

  void measure(MeasuredJob& job) {
    const MeasureOptions& asked = options_.measure;
    for (int64_t i = 0; i < asked.warmup; ++i) job.run("warming up");
    profile_.clear();
    std::vector<double> peaks = {job.measure_peak()};
    std::vector<double> copies = {job.measure_copies()};
    double seconds = 0;
    for (int64_t i = 0; i < asked.repetitions; ++i) {
      timeline_.begin();
      seconds += job.run(fmt::format("run {} of {}", i + 1, asked.repetitions)).seconds;
      peaks.push_back(job.measure_peak());
      copies.push_back(job.measure_copies());
    }
    profile_.finish(seconds, static_cast<double>(asked.repetitions));
    roofline_ = {.flops = median(peaks), .bytes = median(copies)};
  }

  std::string text_of(const MeasuredJob& job) const {
    const double rate = job.arithmetic() / profile_.total().seconds;
    std::string text =
        fmt::format("peak of {} {:.4f} TFLOP/s, memory {:.2f} GB/s\n\n", name_of(job.dtype()),
                    roofline_.flops / 1e12, roofline_.bytes / 1e9);
    text += table(profile_, roofline_);
    text +=
        fmt::format("\nThe published model's {:.6g} TFLOP: {:.4f} TFLOP/s, {:.1f} % of the peak\n",
                    job.arithmetic() / 1e12, rate / 1e12, 100 * rate / roofline_.flops);
    constexpr size_t kChanges = 10;
    if (earlier_) {
      text += changes_table(changes_since(*earlier_, profile_), *earlier_, kChanges);
    }
    return text;
  }

  void write_pictures(const MeasuredJob& job, const Json& context) {
    if (trace_.wanted()) {
      const Json trace = trace_of(timeline_, job, roofline_, context);
      trace_.write(json_line(trace) + "\n");
    }
    if (!page_.wanted()) return;
    page_.write(to_html({.job = job,
                         .profile = profile_,
                         .timeline = timeline_,
                         .roofline = roofline_,
                         .context = context,
                         .earlier = earlier_ ? &*earlier_ : nullptr}));
  }

  const Options& options_;
  ResultFile file_;
  PromisedFile trace_;
  PromisedFile page_;
  Report report_;
  std::optional<EarlierResult> earlier_;
  StepProfile profile_;
  Timeline timeline_;  // of the last run
  Roofline roofline_;
};

// Each output is a file of its own.
void check_outputs_differ(const MeasureOptions& options) {
  const std::pair<const char*, const std::string&> outputs[] = {
      {"--json", options.json}, {"--trace", options.trace}, {"--html", options.html}};
  std::map<std::filesystem::path, const char*> seen;
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    std::error_code ignored;
    const auto [other, fresh] =
        seen.emplace(std::filesystem::weakly_canonical(path, ignored), option);
    if (fresh) continue;
    fail(ErrorCode::kInvalidArgument, "{} {}: the same file as {}; name another", option, path,
         other->second);
  }
}

}  // namespace

int run_profile(const Options& options) {
  check_weights(options);
  check_outputs_differ(options.measure);
  run_interruptible([&] { ProfileCommand(options).run(); });
  return 0;
}

}  // namespace zoetrope::cli
