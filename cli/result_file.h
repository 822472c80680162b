// SPDX-License-Identifier: Apache-2.0
// The JSON that bench and profile write.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/output_file.h"
#include "cli/measured_job.h"
#include "cli/options.h"

namespace zoetrope::cli {

// Where --json says: a file, standard output or nowhere. Made before the work, so that a place
// that cannot be written fails at once.
class ResultFile {
 public:
  // Throws kIo.
  explicit ResultFile(const Options& options);

  // A table that stands beside the JSON goes here.
  std::FILE* table() const { return to_stdout_ ? stderr : stdout; }

  void write(const nlohmann::ordered_json& results);

 private:
  std::optional<PendingOutput> file_;
  bool to_stdout_ = false;
};

// Google Benchmark's "context" object: machine and program, then what was run.
nlohmann::ordered_json result_context(const Options& options, const MeasuredJob& job);

// One line or two: the same for people.
std::string job_title(const MeasuredJob& job);

}  // namespace zoetrope::cli
