// SPDX-License-Identifier: Apache-2.0
// A new file, written from its start to its end.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace zoetrope {

// What `error`, an errno, says of a file that cannot be written, with the way out if there is one.
std::string why_not_written(int error);

class FileWriter {
 public:
  // Throws kIo, as do the others, naming the path.
  explicit FileWriter(std::string path);

  void write(const void* data, size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }

  // Zeros up to the next size that is a multiple of `alignment`.
  void pad(size_t alignment);

  size_t size() const { return size_; }

  // The last bytes may be written only here, so it can fail like write().
  void close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void refuse(const char* what) const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  size_t size_ = 0;  // bytes so far
};

}  // namespace zoetrope
