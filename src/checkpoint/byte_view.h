// SPDX-License-Identifier: Apache-2.0
// Numbers and text at any place of a file; what lies outside of it is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zoetrope {

// The `size` lowest bytes of `value`, at most 8.
std::string little_endian(uint64_t value, size_t size);

class ByteView {
 public:
  // `format` and `source` are what messages call the kind of file and the file.
  ByteView(std::span<const std::byte> bytes, const char* format, const std::string& source)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        format_(format),
        source_(source) {}

  size_t size() const { return text_.size(); }

  std::string_view view(uint64_t offset, uint64_t size) const;

  // Little-endian, of at most 8 bytes.
  uint64_t number(uint64_t offset, size_t size) const;

  [[noreturn]] void damaged(const std::string& what) const;

 private:
  std::string_view text_;
  const char* format_;
  std::string source_;
};

}  // namespace zoetrope
