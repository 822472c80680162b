// SPDX-License-Identifier: Apache-2.0
// --check-finite: an observer that stops at the first value that is NaN or infinite.
#pragma once

#include <string>
#include <vector>

#include "zoetrope/autoencoder.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

class FiniteCheck {
 public:
  // `input`: what messages call it. `stream`: of the Stream that is observed.
  FiniteCheck(const Autoencoder& model, std::string input, StreamOptions stream);

  // Throws kIo if the input is at fault, kCheckpoint if the weights are: those make such values
  // from a made-up input, too, which is tried then. The message names the step and the place.
  void operator()(const StepEvent& event);

 private:
  [[noreturn]] void explain(const StepEvent& event, const StepResult& result, int64_t index) const;

  const Autoencoder& model_;
  std::string input_;
  StreamOptions stream_;
  double largest_input_ = 0;   // absolute value of what the model was given so far
  std::vector<float> values_;  // of one result
};

}  // namespace zoetrope::cli
