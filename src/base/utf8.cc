// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace zoetrope {
namespace {

constexpr size_t kLongestPrintable = 200;

// First bytes, and the range of the second byte that they allow (Unicode 15, table 3-7).
struct Utf8Row {
  uint8_t first_low, first_high;
  uint8_t second_low, second_high;
  size_t length;
};

constexpr std::array<Utf8Row, 8> kMultiByte = {{
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
}};

bool within(char byte, uint8_t low, uint8_t high) {
  const auto value = static_cast<uint8_t>(byte);
  return low <= value && value <= high;
}

// Bytes of the character that `text`, not empty, starts with; 0 if it is not valid.
size_t character_length(std::string_view text) {
  if (within(text[0], 0x00, 0x7f)) return 1;
  for (const Utf8Row& row : kMultiByte) {
    if (!within(text[0], row.first_low, row.first_high)) continue;
    if (text.size() < row.length || !within(text[1], row.second_low, row.second_high)) return 0;
    for (size_t i = 2; i < row.length; ++i) {
      if (!within(text[i], 0x80, 0xbf)) return 0;
    }
    return row.length;
  }
  return 0;
}

bool is_control(char byte) { return within(byte, 0x00, 0x1f) || byte == 0x7f; }

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (result.size() > kLongestPrintable) return result + "...";
    const size_t length = character_length(text);
    if (length == 0 || is_control(text[0])) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<uint8_t>(text[0]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace zoetrope
