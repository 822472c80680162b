// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/report.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;

void check_output(const Options& options) {
  const std::string& path = options.output;
  if (path.empty()) {
    fail(ErrorCode::kInvalidArgument, "no output: name it with -o, e.g. -o model.zoe");
  }
  if (path == "-") {
    fail(ErrorCode::kInvalidArgument, "-o -: a module is a file; name one, e.g. -o model.zoe");
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || path.ends_with('/')) {
    fail(ErrorCode::kIo, "{}: expected a file, found a folder; name a file in it", path);
  }
  const PendingOutput trial(path);  // first: what it refuses, -y does not help
  if (fs::exists(path, ignored) && !options.overwrite) {
    fail(ErrorCode::kIo, "{}: exists already: add -y to replace it", path);
  }
}

void print_made(const std::string& path) {
  const CheckpointDescription made = describe(path);
  print(fmt::format("{}: {} for {} in {}: {} constants, {:.1f} MiB, weights {}\n", one_line(path),
                    made.family, made.module->target, operands_of(*made.module),
                    made.tensors.size(), static_cast<double>(made.module->bytes) / (1 << 20),
                    made.module->weights_checksum));
}

}  // namespace

int run_compile(const Options& options) {
  check_weights(options);
  check_output(options);
  LoadOptions load = options.load;
  load.cancelled = interrupted;
  Report report(options, false);
  bool started = false;
  load.progress = [&](int64_t done, int64_t total) {
    if (!started) report.progress().start("packing weights", "tensors", total);
    started = true;
    report.progress().show(static_cast<double>(done));
  };
  write_module(options.weights, options.output, load);
  report.progress().clear();
  if (options.json) {
    inspect_checkpoint(options.output, options);
  } else if (!options.quiet) {
    print_made(options.output);
  }
  return 0;
}

}  // namespace zoetrope::cli
