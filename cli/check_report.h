// SPDX-License-Identifier: Apache-2.0
// What check found, its verdict, and how it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/step_errors.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

// Of every step either the rms of the error over the rms of the values, or its maximum over the
// largest value is bounded.
struct CheckBounds {
  std::optional<double> relative_rms = {};
  std::optional<double> relative_max = {};
  std::optional<double> psnr = {};  // of the decoded clip, at least; dB
};

struct CheckResult {
  std::vector<StepError> rows = {};
  int64_t unmatched = 0;
  // dB; of the decoded clip beside the reference's (-1 to 1, not rounded), and of each side's
  // beside the original (8 bits). Empty: not decoded, or no original.
  std::optional<double> decoded_psnr = {};
  std::optional<double> tested_psnr = {};
  std::optional<double> reference_psnr = {};
  std::string weights = {};
  ModelInfo info = {};
  std::string tested = {};  // the ways, in words
  std::string reference = {};
  std::string clip = {};
  CheckBounds bounds = {};
};

// dB, for a peak of 2; infinite if nothing differs.
double psnr(double squared_error, int64_t values);

// Two float32 sides: each is within 1e-5 of the exact values, so they are within 2e-5 of each
// other. Otherwise what a 16-bit policy is tested to keep to: twice the error of the published
// code with every result rounded to bfloat16, which is 0.011 to 0.018 of the values' rms
// (tests/data/golden/naive.json); and a decoded clip that the eye does not tell apart. `tolerance`
// takes the place of the first.
CheckBounds bounds_for(const ModelInfo& tested, const ModelInfo& reference,
                       std::optional<double> tolerance);

// One line: what is out of bounds first, or empty.
std::string problem_of(const CheckResult& result);

std::string to_text(const CheckResult& result);
std::string to_json(const CheckResult& result);

}  // namespace zoetrope::cli
