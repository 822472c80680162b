// SPDX-License-Identifier: Apache-2.0
// Which inputs there are and where their outputs go.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "media/file_kind.h"

namespace zoetrope::cli {

struct Job {
  std::string input;
  std::string output;
  bool finished = false;  // the output exists already and is not to be made again
};

struct Jobs {
  std::vector<Job> jobs;
  bool many = false;   // one failure does not stop the rest; finished outputs are skipped
  std::string folder;  // to be made before the first output, or empty
};

// What a command writes.
struct OutputRules {
  const char* extension;  // of outputs in a folder that the program names itself
  media::FileKind (*classify)(const std::string& path);
  bool folder_is_output;  // a folder may be one output: frames as .png
};

// Everything about inputs and outputs that can be checked without reading a file. Throws
// kInvalidArgument, kIo.
Jobs plan_jobs(const Options& options, const OutputRules& rules);

// Throws kInvalidArgument if --expect is given and there is not one file to compare.
void check_expect(const Options& options, const Jobs& jobs);

// Opens and drops a single video output: what is wrong with it is found before the work.
void try_video_output(const Jobs& jobs);

}  // namespace zoetrope::cli
