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

// What a file system that does not say allows.
constexpr long kUsualLongestName = 255;

// Bytes that a name in `folder` may have.
size_t longest_name(const fs::path& folder) {
  const long longest = pathconf(folder.c_str(), _PC_NAME_MAX);
  return static_cast<size_t>(longest > 0 ? longest : kUsualLongestName);
}

// The first bytes of `stem` that leave room for `others` more in a name, cut between characters.
std::string shortened(std::string stem, const fs::path& folder, size_t others) {
  const size_t longest = longest_name(folder);
  if (stem.size() + others <= longest) return stem;
  size_t size = longest > others ? longest - others : 0;
  constexpr unsigned kContinues = 0x80;  // a later byte of a UTF-8 character: 10xxxxxx
  while (size > 0 && (static_cast<unsigned char>(stem[size]) & 0xc0U) == kContinues) --size;
  stem.resize(size);
  return stem;
}

// The folder that `path` is in, which may not exist.
fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// What `path`, which may not exist, points to in the end.
fs::path target_of(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as Linux
  std::error_code error;
  fs::path target = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    if (!fs::is_symlink(fs::symlink_status(target, error))) return target;
    const fs::path next = fs::read_symlink(target, error);
    if (error) fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
    target = target.parent_path() / next;  // `next` alone if it begins at the root
  }
  fail(ErrorCode::kIo, "{}: expected a file, found links that lead nowhere: name another output",
       path.string());
}

// Beside `target`, as a new file with the extension of `path`.
std::string temporary_name(const fs::path& target, const fs::path& path) {
  static std::atomic<int> counter = 0;
  const std::string ending =
      fmt::format(".{}-{}.partial{}", getpid(), counter.fetch_add(1), path.extension().string());
  const std::string stem = shortened(path.stem().string(), folder_of(target), ending.size() + 1);
  return (target.parent_path() / fmt::format(".{}{}", stem, ending)).string();
}

// Beside `target`, the name of an output that is not whole; from the second on, with its number.
std::string partial_name(const fs::path& target, const fs::path& path, int number) {
  const std::string ending = fmt::format(
      ".partial{}{}", number == 1 ? "" : fmt::format("-{}", number), path.extension().string());
  const std::string stem = shortened(path.stem().string(), folder_of(target), ending.size());
  return (target.parent_path() / (stem + ending)).string();
}

}  // namespace

void check_replaceable(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  const char* kind = fs::is_fifo(status) ? "pipe" : fs::is_socket(status) ? "socket" : "device";
  fail(ErrorCode::kIo, "{}: expected a file or a new name, found a {}: for standard output, say -",
       path, kind);
}

PendingOutput::PendingOutput(std::string path) : path_(std::move(path)) {
  check_replaceable(path_);
  target_ = target_of(path_);
  const fs::path folder = folder_of(target_);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    fail(ErrorCode::kIo, "{}: folder {} does not exist", path_, folder.string());
  }
  if (access(folder.c_str(), W_OK) != 0) {
    fail(ErrorCode::kIo, "{}: folder {}: {}", path_, folder.string(), std::strerror(errno));
  }
  const size_t size = fs::path(target_).filename().string().size();
  if (size > longest_name(folder)) {
    fail(ErrorCode::kIo, "{}: expected a name of at most {} bytes, found {}: choose a shorter one",
         path_, longest_name(folder), size);
  }
  temporary_path_ = temporary_name(target_, path_);
}

PendingOutput::~PendingOutput() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(temporary_path_, ignored);
}

void PendingOutput::move_to(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) && fs::is_directory(temporary_path_, error)) {
    fs::remove_all(path, error);  // rename replaces files and empty folders only
  }
  fs::rename(temporary_path_, path, error);
  if (error) {
    fail(ErrorCode::kIo, "{}: cannot move the output into place: {}", path, error.message());
  }
  committed_ = true;
}

Error PendingOutput::in_its_name(const Error& error) const {
  std::string message = error.what();
  const size_t found = message.find(temporary_path_);
  if (found != std::string::npos) message.replace(found, temporary_path_.size(), path_);
  return Error(error.code(), message);
}

void PendingOutput::commit() { move_to(target_); }

std::string PendingOutput::commit_partial() {
  std::error_code ignored;
  std::string path;
  for (int number = 1; path.empty() || fs::exists(fs::symlink_status(path, ignored)); ++number) {
    path = partial_name(target_, path_, number);
  }
  move_to(path);
  return path;
}

}  // namespace zoetrope
