// SPDX-License-Identifier: Apache-2.0
// Where calls leave the library: every exception becomes an Error.
#pragma once

#include <exception>
#include <new>

#include "base/fail.h"

namespace zoetrope {

template <typename Call>
auto at_boundary(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::kOutOfMemory,
         "the host has no memory left; use a smaller size, fewer frames per step, or a "
         "memory limit");
  } catch (const std::exception& error) {
    fail(ErrorCode::kInternal, "internal error, please report it: {}", error.what());
  }
}

}  // namespace zoetrope
