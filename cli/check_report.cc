// SPDX-License-Identifier: Apache-2.0
#include "cli/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/report.h"
#include "zoetrope/version.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFloat32Tolerance = 2e-5;
constexpr double kHalfTolerance = 0.036;
constexpr double kLeastPsnr = 40;

bool is_float32(const ModelInfo& info) {
  const bool encoder = info.encoder_base_dim == 0 || info.encode_dtype == DType::kFloat32;
  const bool decoder = info.decoder_base_dim == 0 || info.decode_dtype == DType::kFloat32;
  return encoder && decoder;
}

std::string problem_of(const StepError& row, const CheckBounds& bounds) {
  const std::string step = fmt::format("{} of {}", row.name, row.entry);
  if (row.not_finite > 0) {
    return fmt::format("{}: {} of {} values are not finite on one side", step, row.not_finite,
                       row.values);
  }
  if (bounds.relative_rms && row.relative_rms() > *bounds.relative_rms) {
    return fmt::format("{}: the rms error is {:.2e} of the values' rms, {:.2e} is allowed", step,
                       row.relative_rms(), *bounds.relative_rms);
  }
  if (bounds.relative_max && row.relative_max() > *bounds.relative_max) {
    return fmt::format("{}: the largest error is {:.2e} of the largest value, {:.2e} is allowed",
                       step, row.relative_max(), *bounds.relative_max);
  }
  return "";
}

// The row whose bounded error is largest.
const StepError& worst(const CheckResult& result) {
  const bool rms = result.bounds.relative_rms.has_value();
  return *std::ranges::max_element(result.rows, {}, [&](const StepError& row) {
    return rms ? row.relative_rms() : row.relative_max();
  });
}

std::string heading(const std::string& entry, size_t width) {
  return fmt::format("\n{:<{}}{:>11}{:>11}{:>11}{:>10}{:>13}\n", entry, width, "rms error",
                     "max error", "largest", "rms/rms", "max/largest");
}

std::string line(const StepError& row, const CheckBounds& bounds, size_t width) {
  return fmt::format("  {:<{}}{:>11.2e}{:>11.2e}{:>11.4g}{:>10.1e}{:>13.1e}{}\n", row.name,
                     width - 2, row.rms(), row.max_error, row.largest, row.relative_rms(),
                     row.relative_max(), problem_of(row, bounds).empty() ? "" : "  <--");
}

std::string table(const CheckResult& result) {
  size_t width = 16;
  for (const StepError& row : result.rows) width = std::max(width, row.name.size() + 3);
  std::string text;
  std::vector<std::string> entries;
  for (const StepError& row : result.rows) {
    if (std::ranges::find(entries, row.entry) == entries.end()) entries.push_back(row.entry);
  }
  for (const std::string& entry : entries) {
    text += heading(entry, width);
    for (const StepError& row : result.rows) {
      if (row.entry == entry) text += line(row, result.bounds, width);
    }
  }
  return text;
}

std::string bounds_text(const CheckBounds& bounds) {
  std::string text = bounds.relative_rms
                         ? fmt::format("rms/rms up to {:g}", *bounds.relative_rms)
                         : fmt::format("max/largest up to {:g}", bounds.relative_max.value_or(0));
  if (bounds.psnr) text += fmt::format(", PSNR from {:g} dB", *bounds.psnr);
  return text;
}

std::string pictures_text(const CheckResult& result) {
  std::string text;
  if (result.decoded_psnr) {
    text +=
        fmt::format("decoded clip beside the reference's: PSNR {:.2f} dB\n", *result.decoded_psnr);
  }
  if (result.tested_psnr) {
    text += fmt::format("beside the original: PSNR {:.2f} dB, the reference's {:.2f} dB\n",
                        *result.tested_psnr, result.reference_psnr.value_or(0));
  }
  return text;
}

// JSON has no infinity.
Json finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json to_json(const StepError& row, const CheckBounds& bounds) {
  return {{"entry", row.entry},
          {"name", row.name},
          {"kernel", row.kernel},
          {"reference_kernel", row.reference_kernel},
          {"shape", {row.shape.frames, row.shape.height, row.shape.width, row.shape.channels}},
          {"values", row.values},
          {"not_finite", row.not_finite},
          {"rms_error", row.rms()},
          {"max_error", row.max_error},
          {"largest", row.largest},
          {"relative_rms", row.relative_rms()},
          {"relative_max", row.relative_max()},
          {"within_bounds", problem_of(row, bounds).empty()}};
}

}  // namespace

double psnr(double squared_error, int64_t values) {
  if (squared_error == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(4 * static_cast<double>(values) / squared_error);
}

CheckBounds bounds_for(const ModelInfo& tested, const ModelInfo& reference,
                       std::optional<double> tolerance) {
  if (is_float32(tested) && is_float32(reference)) {
    return {.relative_max = tolerance.value_or(kFloat32Tolerance)};
  }
  return {.relative_rms = tolerance.value_or(kHalfTolerance), .psnr = kLeastPsnr};
}

std::string problem_of(const CheckResult& result) {
  for (const StepError& row : result.rows) {
    std::string problem = problem_of(row, result.bounds);
    if (!problem.empty()) return problem;
  }
  const bool close =
      !result.bounds.psnr || !result.decoded_psnr || *result.decoded_psnr >= *result.bounds.psnr;
  if (close) return "";
  return fmt::format(
      "the decoded clip: PSNR {:.2f} dB beside the reference's, {:g} dB is asked for",
      *result.decoded_psnr, *result.bounds.psnr);
}

std::string to_text(const CheckResult& result) {
  std::string text =
      fmt::format("{} against {}\n{}, checksum {}\n{}\n", result.tested, result.reference,
                  one_line(result.weights), result.info.weights_checksum, one_line(result.clip));
  text += table(result);
  const StepError& largest = worst(result);
  text += fmt::format("\n{} values compared", result.rows.size());
  if (result.unmatched > 0) {
    text += fmt::format("; {} times a value was made on one side alone, where passes are off",
                        result.unmatched);
  }
  text += fmt::format("\nlargest error: {} of {}, rms/rms {:.1e}, max/largest {:.1e}\n",
                      largest.name, largest.entry, largest.relative_rms(), largest.relative_max());
  text += pictures_text(result);
  const std::string problem = problem_of(result);
  const std::string bounds = bounds_text(result.bounds);
  if (problem.empty()) return text + fmt::format("within bounds: {}\n", bounds);
  return text + fmt::format("out of bounds ({}), first at {}\n", bounds, problem);
}

std::string to_json(const CheckResult& result) {
  const std::string problem = problem_of(result);
  Json object = {{"zoetrope_version", version()},
                 {"weights", result.weights},
                 {"weights_checksum", result.info.weights_checksum},
                 {"tested", result.tested},
                 {"reference", result.reference},
                 {"clip", result.clip},
                 {"steps", Json::array()},
                 {"unmatched", result.unmatched},
                 {"decoded_psnr", finite(result.decoded_psnr)},
                 {"tested_psnr", finite(result.tested_psnr)},
                 {"reference_psnr", finite(result.reference_psnr)},
                 {"bounds",
                  {{"relative_rms", finite(result.bounds.relative_rms)},
                   {"relative_max", finite(result.bounds.relative_max)},
                   {"psnr", finite(result.bounds.psnr)}}},
                 {"within_bounds", problem.empty()},
                 {"problem", problem}};
  for (const StepError& row : result.rows) object["steps"].push_back(to_json(row, result.bounds));
  return json_line(object);
}

}  // namespace zoetrope::cli
