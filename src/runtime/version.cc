// SPDX-License-Identifier: Apache-2.0
#include "zoetrope/version.h"

namespace zoetrope {

const char* v0::version() { return ZOETROPE_VERSION; }

}  // namespace zoetrope
