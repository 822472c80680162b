// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fail.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

std::string temporary_name(const fs::path& path) {
  static std::atomic<int> counter = 0;
  const fs::path name = fmt::format(".{}.{}-{}.partial{}", path.stem().string(), getpid(),
                                    counter.fetch_add(1), path.extension().string());
  return (path.parent_path() / name).string();
}

}  // namespace

PendingOutput::PendingOutput(std::string path) : path_(std::move(path)) {
  const fs::path folder = fs::absolute(path_).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    fail(ErrorCode::kIo, "{}: folder {} does not exist", path_, folder.string());
  }
  if (access(folder.c_str(), W_OK) != 0) {
    fail(ErrorCode::kIo, "{}: folder {}: {}", path_, folder.string(), std::strerror(errno));
  }
  temporary_path_ = temporary_name(path_);
}

PendingOutput::~PendingOutput() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(temporary_path_, ignored);
}

void PendingOutput::commit() {
  std::error_code error;
  if (fs::is_directory(path_, error) && fs::is_directory(temporary_path_, error)) {
    fs::remove_all(path_, error);  // rename replaces files and empty folders only
  }
  fs::rename(temporary_path_, path_, error);
  if (error) {
    fail(ErrorCode::kIo, "{}: cannot move the finished output into place: {}", path_,
         error.message());
  }
  committed_ = true;
}

}  // namespace zoetrope
