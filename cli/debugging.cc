// SPDX-License-Identifier: Apache-2.0
#include "cli/debugging.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fail.h"
#include "cli/finite_check.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

namespace {

// Of all values that the command's steps make, as StepEvent::results calls them.
std::vector<std::string> value_names(const Options& options, int64_t height, int64_t width) {
  std::vector<std::string> names;
  const auto add = [&](const char* entry) {
    const PlanDescription plan = describe_plan(
        options.weights, {.entry = entry, .height = height, .width = width}, options.load);
    for (const BufferDescription& buffer : plan.buffers) {
      if (buffer.kind == "input") names.push_back(buffer.name);
    }
    for (const StepDescription& step : plan.steps) {
      if (step.op != "carry") names.push_back(step.name);
      const auto activated = step.buffers.find("activated");
      if (activated == step.buffers.end() || !step.buffers.contains("y")) continue;
      names.push_back(plan.buffers.at(static_cast<size_t>(activated->second)).name);
    }
  };
  if (options.command != Command::kDecode) {
    add("encode.first");
    add("encode.next");
  }
  if (options.command != Command::kEncode) {
    add("decode.first");
    add("decode.next");
  }
  return names;
}

}  // namespace

Debugging::Debugging(const Options& options, const Jobs& jobs) : options_(options) {
  if (options.debug.dump.empty()) return;
  if (jobs.many) {
    fail(ErrorCode::kInvalidArgument, "--dump {}: expected one input, found {}", options.debug.dump,
         jobs.jobs.size());
  }
  dump_.emplace(options.debug.dump, options.debug.steps, options.overwrite);
}

void Debugging::observe(StreamOptions& stream, const Autoencoder& model, const std::string& input,
                        int64_t height, int64_t width) {
  const bool check_finite = options_.debug.check_finite;
  if (!check_finite && !dump_) return;
  if (dump_ && !steps_checked_) dump_->check(value_names(options_, height, width));
  steps_checked_ = true;
  std::shared_ptr<FiniteCheck> check;
  if (check_finite) {
    StreamOptions same = stream;
    same.height = height;
    same.width = width;
    check = std::make_shared<FiniteCheck>(model, input, same);
  }
  // Values are written first: those that are not finite are of interest.
  stream.observer = [this, check](const StepEvent& event) {
    if (dump_) (*dump_)(event);
    if (check) (*check)(event);
  };
}

void Debugging::finish(Report& report) const {
  if (!dump_ || dump_->wrote()) return;
  report.note(
      fmt::format("--steps {}: matches only steps after the first frame, and this input has one: "
                  "nothing was written to {}",
                  options_.debug.steps, options_.debug.dump));
}

}  // namespace zoetrope::cli
