// SPDX-License-Identifier: Apache-2.0
// The files that bench and profile write, and the JSON of both.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/output_file.h"
#include "cli/measured_job.h"
#include "cli/options.h"

namespace zoetrope::cli {

// A file that an option names. It is reserved before the work, so that a place that cannot be
// written fails at once, and appears when it is whole.
class PromisedFile {
 public:
  // An empty path: nothing is written. Throws kIo.
  PromisedFile(std::string option, const std::string& path, bool overwrite);

  bool wanted() const { return file_.has_value(); }

  // Throws kIo.
  void write(const std::string& text);

 private:
  std::string option_;
  std::optional<PendingOutput> file_;
};

// Where --json says: a file, standard output or nowhere.
class ResultFile {
 public:
  // Throws kIo.
  explicit ResultFile(const Options& options);

  // A table that stands beside the JSON goes here.
  std::FILE* table() const { return to_stdout_ ? stderr : stdout; }

  void write(const nlohmann::ordered_json& results);

 private:
  bool to_stdout_;
  PromisedFile file_;
};

// Google Benchmark's "context" object: machine and program, then what was run.
nlohmann::ordered_json result_context(const Options& options, const MeasuredJob& job);

// One line or two: the same for people.
std::string job_title(const std::string& name, const MeasuredJob& job);

}  // namespace zoetrope::cli
