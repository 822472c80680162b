// SPDX-License-Identifier: Apache-2.0
// Text that comes from files, where any bytes may stand.
#pragma once

#include <string>
#include <string_view>

namespace zoetrope {

// Strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// `text` fit for a one-line message: control characters and bytes that are not UTF-8 are written as
// \xNN, and what is longer than 200 bytes is cut.
std::string printable(std::string_view text);

}  // namespace zoetrope
