// SPDX-License-Identifier: Apache-2.0
// What --check-finite and --dump do while an input is coded: observers of its Streams.
#pragma once

#include <optional>
#include <string>

#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/step_dump.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

class Debugging {
 public:
  // Throws kIo for a folder that cannot be written, kInvalidArgument for one of many inputs.
  Debugging(const Options& options, const Jobs& jobs);

  // Makes a Stream of `model` on `input` run the checks that are asked for. `height` and `width`:
  // of its video. This object outlives the Stream. Throws kInvalidArgument if --steps matches
  // nothing; asked once, as all Streams of a command are of one input.
  void observe(StreamOptions& stream, const Autoencoder& model, const std::string& input,
               int64_t height, int64_t width);

  // After the input: a note if --dump wrote nothing of it.
  void finish(Report& report) const;

 private:
  const Options& options_;
  std::optional<StepDump> dump_;
  bool steps_checked_ = false;
};

}  // namespace zoetrope::cli
