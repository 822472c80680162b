// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_name.h"

#include <algorithm>
#include <cstddef>

#include "base/fail.h"
#include "base/utf8.h"

namespace zoetrope {
namespace {

constexpr size_t kLongestName = 4096;  // bytes

}  // namespace

void check_tensor_name(const std::string& source, std::string_view name) {
  if (name.empty() || name.size() > kLongestName) {
    fail(ErrorCode::kCheckpoint, "{}: tensor name of {} bytes; expected 1 to {}", source,
         name.size(), kLongestName);
  }
  const bool control = std::ranges::any_of(
      name, [](char byte) { return (byte >= 0 && byte < 0x20) || byte == 0x7f; });
  if (control || !is_utf8(name)) {
    fail(ErrorCode::kCheckpoint,
         "{}: tensor name {}: expected UTF-8 without control characters: rename the tensor", source,
         printable(name));
  }
}

}  // namespace zoetrope
