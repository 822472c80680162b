// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/standard_streams.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kListedNames = 3;

// The library replaces what is there; people have to say so.
void check_output(const Options& options) {
  std::error_code ignored;
  const bool there = fs::exists(options.output, ignored);
  const bool empty_folder =
      fs::is_directory(options.output, ignored) && fs::is_empty(options.output, ignored);
  if (!there || empty_folder || options.overwrite) return;
  fail(ErrorCode::kIo, "{}: exists already: add -y to replace it", options.output);
}

std::string unknown_text(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListedNames); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  const size_t more = names.size() - std::min(names.size(), kListedNames);
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

void print_json(const Options& options, const Conversion& conversion) {
  const nlohmann::ordered_json line = {{"input", options.inputs[0]},
                                       {"output", options.output},
                                       {"format", conversion.format},
                                       {"tensors", conversion.tensors},
                                       {"bytes", conversion.bytes},
                                       {"renamed", conversion.renamed},
                                       {"not_finite", conversion.not_finite},
                                       {"unknown", conversion.unknown},
                                       {"lost", conversion.lost}};
  print(json_line(line) + "\n");
}

void print_text(const Options& options, const Conversion& conversion) {
  if (options.quiet) return;
  const std::string renamed =
      conversion.renamed == 0 ? "" : fmt::format(", {} renamed", conversion.renamed);
  const std::string text = fmt::format("{} ({}) -> {}: {} tensors, {:.1f} MiB{}", options.inputs[0],
                                       conversion.format, options.output, conversion.tensors,
                                       static_cast<double>(conversion.bytes) / (1 << 20), renamed);
  print(one_line(text) + "\n");
}

}  // namespace

int run_convert(const Options& options) {
  if (options.inputs.size() != 1) {
    fail(ErrorCode::kInvalidArgument, "expected one checkpoint to convert, found {}",
         options.inputs.size());
  }
  if (options.output.empty()) fail(ErrorCode::kInvalidArgument, "no output: name it with -o");
  check_output(options);
  Report report(options, false);
  ConvertOptions convert_options = options.convert;
  convert_options.cancelled = interrupted;
  bool started = false;
  convert_options.progress = [&](int64_t done, int64_t total) {
    if (!started) report.progress().start("converting", "tensors", total);
    started = true;
    report.progress().show(static_cast<double>(done));
  };
  const Conversion conversion = convert(options.inputs[0], options.output, convert_options);
  if (started) report.progress().finish();
  if (!conversion.unknown.empty()) {
    report.note(fmt::format("{} of no layer of the model, kept as they are: {}",
                            conversion.unknown.size(), unknown_text(conversion.unknown)));
  }
  if (conversion.not_finite > 0) {
    report.note(
        fmt::format("{} values are NaN or infinite, kept as they are: encode and decode will "
                    "refuse them",
                    conversion.not_finite));
  }
  if (!conversion.lost.empty()) report.note(conversion.lost);
  if (options.json) {
    print_json(options, conversion);
  } else {
    print_text(options, conversion);
  }
  return 0;
}

}  // namespace zoetrope::cli
