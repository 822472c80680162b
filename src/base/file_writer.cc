// SPDX-License-Identifier: Apache-2.0
#include "base/file_writer.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"

namespace zoetrope {

FileWriter::FileWriter(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) refuse("cannot create");
}

void FileWriter::write(const void* data, size_t size) {
  if (size > 0 && std::fwrite(data, 1, size, file_.get()) != size) refuse("cannot write");
  size_ += size;
}

void FileWriter::pad(size_t alignment) {
  write(std::string((alignment - size_ % alignment) % alignment, '\0'));
}

void FileWriter::close() {
  if (std::fclose(file_.release()) != 0) refuse("cannot write");
}

void FileWriter::refuse(const char* what) const {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  fail(ErrorCode::kIo, "{}: {}: {}", path_, what,
       full ? "the disk is full: make room, or name an output elsewhere" : std::strerror(errno));
}

}  // namespace zoetrope
