// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace zoetrope {

// The whole of `text` as a number; empty if it is anything else, or too large for the type.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace zoetrope
