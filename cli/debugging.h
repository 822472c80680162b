// SPDX-License-Identifier: Apache-2.0
// What --check-finite and --dump do while an input is coded: observers of its Streams.
#pragma once

#include <optional>
#include <string>

#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/step_dump.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

class Debugging {
 public:
  // Throws kIo for a folder that cannot be written, kInvalidArgument for one of many inputs.
  Debugging(const Options& options, const Jobs& jobs);

  // Makes a Stream of `model` on `input` run the checks that are asked for. `height` and `width`:
  // of its video. This object outlives the Stream.
  void observe(StreamOptions& stream, const Autoencoder& model, const std::string& input,
               int64_t height, int64_t width);

  // After an input, before its output is complete. Throws kInvalidArgument if --steps matched
  // nothing.
  void finish() const;

 private:
  bool check_finite_;
  std::optional<StepDump> dump_;
};

}  // namespace zoetrope::cli
