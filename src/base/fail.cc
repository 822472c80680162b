// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"

namespace zoetrope {

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}

void fail_check(const char* condition, const char* file, int line, const std::string& detail) {
  fail(ErrorCode::kInternal, "internal error, please report it: {} does not hold ({}) at {}:{}",
       condition, detail, file, line);
}

}  // namespace zoetrope
