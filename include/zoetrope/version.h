// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zoetrope/export.h"

namespace zoetrope {
inline namespace v0 {

// The library's version, "major.minor.patch".
ZOETROPE_API const char* version();

}  // namespace v0
}  // namespace zoetrope
