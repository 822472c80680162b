// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/safetensors.h"

namespace zoetrope {

// The format's own limit, in bytes.
constexpr size_t kLongestSafetensorsHeader = 100'000'000;
// Our limit: no real tensor has more, and a header could name millions.
constexpr size_t kMaxSafetensorsAxes = 8;
// The key in the header that names no tensor.
constexpr const char* kSafetensorsMetadata = "__metadata__";

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, SafetensorsEntry> tensors;  // offsets from the start of the data
};

// Checks form, names, types, and that each tensor's shape gives its number of bytes; not where the
// tensors lie. Throws kCheckpoint, naming `path`.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path);

// "F32" for float32, and so on.
std::string_view safetensors_name_of(DType dtype);

}  // namespace zoetrope
