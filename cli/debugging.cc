// SPDX-License-Identifier: Apache-2.0
#include "cli/debugging.h"

#include <memory>

#include "base/fail.h"
#include "cli/finite_check.h"

namespace zoetrope::cli {

Debugging::Debugging(const Options& options, const Jobs& jobs)
    : check_finite_(options.debug.check_finite) {
  if (options.debug.dump.empty()) return;
  if (jobs.many) {
    fail(ErrorCode::kInvalidArgument, "--dump {}: expected one input, found {}", options.debug.dump,
         jobs.jobs.size());
  }
  dump_.emplace(options.debug.dump, options.debug.steps, options.overwrite);
}

void Debugging::observe(StreamOptions& stream, const Autoencoder& model, const std::string& input,
                        int64_t height, int64_t width) {
  if (!check_finite_ && !dump_) return;
  std::shared_ptr<FiniteCheck> check;
  if (check_finite_) {
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

void Debugging::finish() const {
  if (dump_) dump_->finish();
}

}  // namespace zoetrope::cli
