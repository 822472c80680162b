// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <system_error>

#include "base/fail.h"
#include "base/output_file.h"
#include "media/frame_folder.h"
#include "media/video.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlaceholder = "{}";

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<std::string> read_list(std::istream& stream) {
  std::vector<std::string> paths;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) paths.push_back(line);
  }
  return paths;
}

std::vector<std::string> inputs_of(const Options& options) {
  std::vector<std::string> inputs = options.inputs;
  if (!options.files_from.empty()) {
    std::vector<std::string> listed;
    if (options.files_from == "-") {
      listed = read_list(std::cin);
    } else {
      std::ifstream file(options.files_from);
      if (!file || is_folder(options.files_from)) {
        fail(ErrorCode::kIo, "{}: cannot read this list of inputs", options.files_from);
      }
      listed = read_list(file);
    }
    inputs.insert(inputs.end(), listed.begin(), listed.end());
  }
  if (std::count(inputs.begin(), inputs.end(), "") > 0) {
    fail(ErrorCode::kInvalidArgument, "an input has an empty name: leave it out, or name a file");
  }
  if (inputs.empty()) {
    fail(ErrorCode::kInvalidArgument, "no input: name one, or a list of them with --files-from");
  }
  const bool list_is_stdin = options.files_from == "-";
  if (std::count(inputs.begin(), inputs.end(), "-") + (list_is_stdin ? 1 : 0) > 1) {
    fail(ErrorCode::kInvalidArgument, "-: standard input can be read only once");
  }
  return inputs;
}

// The name that stands for an input: without folder and, for files, without extension.
std::string stem_of(const std::string& input) {
  if (input == "-") {
    fail(ErrorCode::kInvalidArgument,
         "-: standard input has no name to make an output of: name the output file");
  }
  fs::path path = fs::path(input).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  return is_folder(input) ? path.filename().string() : path.stem().string();
}

std::string replace_placeholder(std::string pattern, const std::string& stem) {
  for (size_t at = pattern.find(kPlaceholder); at != std::string::npos;
       at = pattern.find(kPlaceholder, at + stem.size())) {
    pattern.replace(at, kPlaceholder.size(), stem);
  }
  return pattern;
}

bool has_known_extension(const std::string& output, const OutputRules& rules) {
  try {
    rules.classify(output);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The pattern with a placeholder that names every output; `folder` is what it may have to make.
std::string output_pattern(const Options& options, const OutputRules& rules, std::string* folder) {
  const std::string& output = options.output;
  if (output.find(kPlaceholder) != std::string::npos) {
    rules.classify(replace_placeholder(output, "x"));
    return output;
  }
  const bool file = output == "-" || (!output.ends_with('/') && !is_folder(output) &&
                                      has_known_extension(output, rules));
  if (file) {
    fail(ErrorCode::kInvalidArgument,
         "-o {}: expected a folder, or a name with {{}} for the input's name, for many inputs, "
         "found one output",
         output);
  }
  *folder = output;
  return output + (output.ends_with('/') ? "" : "/") + std::string(kPlaceholder) + rules.extension;
}

void check_parent(const std::string& path) {
  fs::path parent = fs::path(path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
  parent = parent.has_parent_path() ? parent.parent_path() : ".";
  if (is_folder(parent.string())) return;
  fail(ErrorCode::kIo, "{}: folder {} does not exist: make it first", path, parent.string());
}

// One spelling for all names of a file or folder, which may not exist yet.
std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error || canonical.empty() ? path : canonical.string();
}

void check_distinct(const Options& options, const std::vector<Job>& jobs) {
  std::map<std::string, const Job*> readers;  // by input
  for (const Job& job : jobs) {
    if (job.input != "-") readers.emplace(identity_of(job.input), &job);
  }
  std::map<std::string, const Job*> writers;  // by output
  for (const Job& job : jobs) {
    if (job.output == "-") continue;
    const std::string output = identity_of(job.output);
    for (const std::string& kept : {options.weights, options.expect}) {
      if (kept.empty() || identity_of(kept) != output) continue;
      fail(ErrorCode::kInvalidArgument,
           "{}: would replace what this command reads: name another output", job.output);
    }
    const auto [known, added] = writers.emplace(output, &job);
    if (!added) {
      fail(ErrorCode::kInvalidArgument, "{} and {} would both become {}: use two commands",
           known->second->input, job.input, job.output);
    }
    const auto reader = readers.find(output);
    if (reader == readers.end()) continue;
    if (identity_of(job.input) == output) {
      fail(ErrorCode::kInvalidArgument, "{}: is input and output at once: name another output",
           job.output);
    }
    fail(ErrorCode::kInvalidArgument,
         "{}: is an input, and the output for {}: name other outputs, such as another folder",
         job.output, job.input);
  }
}

// Marks or refuses an output that exists.
void check_existing(const Options& options, bool many, Job& job) {
  std::error_code ignored;
  if (job.output == "-" || !fs::exists(job.output, ignored)) return;
  check_replaceable(job.output);
  const bool folder = is_folder(job.output);
  if (folder && fs::is_empty(job.output, ignored)) return;
  if (many && !options.overwrite) {
    job.finished = true;
    return;
  }
  if (!options.overwrite) {
    fail(ErrorCode::kIo, "{}: exists already: add -y to replace it", job.output);
  }
  if (folder) media::check_replaceable_folder(job.output);
}

}  // namespace

Jobs plan_jobs(const Options& options, const OutputRules& rules) {
  const std::vector<std::string> inputs = inputs_of(options);
  const std::string& output = options.output;
  if (output.empty()) {
    fail(ErrorCode::kInvalidArgument, "no output: name it with -o");
  }
  const bool placeholder = output.find(kPlaceholder) != std::string::npos;
  const bool folder = !rules.folder_is_output && (output.ends_with('/') || is_folder(output));

  Jobs plan;
  plan.many = inputs.size() > 1 || !options.files_from.empty() || placeholder || folder;
  if (plan.many) {
    const std::string pattern = output_pattern(options, rules, &plan.folder);
    for (const std::string& input : inputs) {
      plan.jobs.push_back({input, replace_placeholder(pattern, stem_of(input))});
    }
  } else {
    rules.classify(output);
    plan.jobs.push_back({inputs[0], output});
  }
  check_distinct(options, plan.jobs);
  if (!plan.folder.empty()) check_parent(plan.folder);
  for (Job& job : plan.jobs) {
    if (plan.folder.empty() && job.output != "-") check_parent(job.output);
    check_existing(options, plan.many, job);
  }
  return plan;
}

void check_expect(const Options& options, const Jobs& jobs) {
  if (options.expect.empty()) return;
  if (jobs.many || jobs.jobs.at(0).output == "-") {
    fail(ErrorCode::kInvalidArgument, "--expect {}: needs one input and an output file",
         options.expect);
  }
}

void try_video_output(const Jobs& jobs) {
  if (jobs.many || jobs.jobs.at(0).output == "-") return;
  // Large and even enough for every encoder.
  media::WriteOptions writing;
  writing.height = writing.width = 64;
  writing.frames = 1;
  media::open_video_writer(jobs.jobs[0].output, writing);
}

}  // namespace zoetrope::cli
