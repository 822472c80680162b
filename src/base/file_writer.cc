// SPDX-License-Identifier: Apache-2.0
#include "base/file_writer.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"

namespace zoetrope {

std::string why_not_written(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "the disk is full: make room, or name an output elsewhere";
    case EFBIG:
      return "the file would be too large: raise the limit of ulimit -f, or name an output on "
             "another file system";
    default:
      return std::strerror(error);
  }
}

FileWriter::FileWriter(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) refuse("cannot create");
}

void FileWriter::write(const void* data, size_t size) {
  if (size > 0 && std::fwrite(data, 1, size, file_.get()) != size) refuse("cannot write");
  size_ += size;
}

void FileWriter::pad(size_t alignment) {
  const auto size = static_cast<int64_t>(size_);
  write(std::string(static_cast<size_t>(round_up(size, static_cast<int64_t>(alignment)) - size),
                    '\0'));
}

void FileWriter::close() {
  if (std::fclose(file_.release()) != 0) refuse("cannot write");
}

void FileWriter::refuse(const char* what) const {
  fail(ErrorCode::kIo, "{}: {}: {}", path_, what, why_not_written(errno));
}

}  // namespace zoetrope
