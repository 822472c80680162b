// SPDX-License-Identifier: Apache-2.0
// A file's bytes, mapped read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace zoetrope {

class MappedFile {
 public:
  // Throws kIo, naming the path: missing, a folder, not readable.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the system that these bytes are not needed soon: they leave resident memory.
  void release(size_t offset, size_t size) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace zoetrope
