// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fail.h"

namespace zoetrope {
namespace {

struct Descriptor {
  // Without O_NONBLOCK a pipe would keep open() until somebody writes to it.
  explicit Descriptor(const std::string& path)
      : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Descriptor file(path);
  if (file.fd < 0) fail(ErrorCode::kIo, "{}: cannot open: {}", path, std::strerror(errno));
  struct stat info = {};
  if (fstat(file.fd, &info) != 0) fail(ErrorCode::kIo, "{}: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::kIo, "{}: expected a file, found none", path);
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) fail(ErrorCode::kIo, "{}: cannot map: {}", path, std::strerror(errno));
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(size_t offset, size_t size) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;  // whole pages inside the range only
  const size_t end = (offset + size) / page * page;
  if (end > begin) {
    madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace zoetrope
