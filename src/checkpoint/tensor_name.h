// SPDX-License-Identifier: Apache-2.0
// What a tensor may be called.
#pragma once

#include <string>
#include <string_view>

namespace zoetrope {

// Names go into messages, JSON and other files, so they must be UTF-8 of 1 to 4096 bytes without
// control characters. Throws kCheckpoint, naming `source`.
void check_tensor_name(const std::string& source, std::string_view name);

}  // namespace zoetrope
