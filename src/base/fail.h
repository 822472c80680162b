// SPDX-License-Identifier: Apache-2.0
// Raising errors. User data goes through fail(); ZOETROPE_CHECK is for our own bugs only.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "zoetrope/error.h"

namespace zoetrope {

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& detail);

}  // namespace zoetrope

// A condition that only a bug can break; `detail` is a string that names the values.
#define ZOETROPE_CHECK(condition, detail)                                               \
  do {                                                                                  \
    if (!(condition)) ::zoetrope::fail_check(#condition, __FILE__, __LINE__, (detail)); \
  } while (false)
