// SPDX-License-Identifier: Apache-2.0
#include "cli/step_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/file_writer.h"
#include "base/output_file.h"
#include "cli/step_values.h"
#include "cli/suggestion.h"
#include "media/npy.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

StepDump::StepDump(std::string folder, std::string glob, bool overwrite)
    : folder_(std::move(folder)), glob_(std::move(glob)) {
  std::error_code error;
  const bool exists = fs::exists(folder_, error);
  if (exists && !fs::is_directory(folder_, error)) {
    fail(ErrorCode::kIo, "--dump {}: expected a folder, found a file; name another", folder_);
  }
  if (exists && !overwrite && !fs::is_empty(folder_, error)) {
    fail(ErrorCode::kIo, "--dump {}: expected a new or an empty folder; -y writes into this one",
         folder_);
  }
  fs::create_directories(folder_, error);
  if (error) fail(ErrorCode::kIo, "--dump {}: cannot make it: {}", folder_, error.message());
}

void StepDump::operator()(const StepEvent& event) {
  for (const StepResult& result : event.results) {
    if (fnmatch(glob_.c_str(), std::string(result.name).c_str(), 0) == 0) write(result);
  }
}

void StepDump::write(const StepResult& result) {
  const ValueShape& shape = result.shape;
  int64_t& frames = frames_[std::string(result.name)];
  const fs::path path = fs::path(folder_) / fmt::format("{}.{:05}-{:05}.npy", result.name, frames,
                                                        frames + shape.frames - 1);
  read(result, values_);
  PendingOutput output(path.string());
  const std::array<int64_t, 4> extents = {shape.frames, shape.height, shape.width, shape.channels};
  try {
    FileWriter file(output.temporary_path());
    file.write(media::npy_header(DType::kFloat32, extents));
    file.write(values_.data(), values_.size() * sizeof(float));
    file.close();
  } catch (const Error& error) {
    throw output.in_its_name(error);
  }
  output.commit();
  frames += shape.frames;
}

void StepDump::check(const std::vector<std::string>& names) const {
  const auto matches = [&](const std::string& name) {
    return fnmatch(glob_.c_str(), name.c_str(), 0) == 0;
  };
  if (std::ranges::any_of(names, matches)) return;
  std::vector<std::string> near = nearest(glob_, names, 3);
  fail(ErrorCode::kInvalidArgument,
       "--steps {}: matches no step; names near it: {}; `zoetrope profile --by step` lists them",
       glob_, fmt::join(near, ", "));
}

}  // namespace zoetrope::cli
