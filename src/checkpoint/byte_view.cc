// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/byte_view.h"

#include <bit>
#include <cstring>

#include "base/fail.h"

namespace zoetrope {

static_assert(std::endian::native == std::endian::little, "files are read as they lie in memory");

std::string little_endian(uint64_t value, size_t size) {
  return {reinterpret_cast<const char*>(&value), size};
}

std::string_view ByteView::view(uint64_t offset, uint64_t size) const {
  if (offset > text_.size() || size > text_.size() - offset) damaged("it was cut");
  return text_.substr(offset, size);
}

uint64_t ByteView::number(uint64_t offset, size_t size) const {
  uint64_t value = 0;
  std::memcpy(&value, view(offset, size).data(), size);
  return value;
}

void ByteView::damaged(const std::string& what) const {
  fail(ErrorCode::kCheckpoint, "{}: damaged {}: {}: get the file again", source_, format_, what);
}

}  // namespace zoetrope
