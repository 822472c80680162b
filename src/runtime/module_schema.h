// SPDX-License-Identifier: Apache-2.0
// A module's header as the metadata of its safetensors file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/safetensors.h"
#include "runtime/module_file.h"

namespace zoetrope {

bool is_module_metadata(const std::map<std::string, std::string>& metadata);

// Checks the form of every field, and the header's checksum first. Throws kCheckpoint,
// kUnsupported.
ModuleHeader parse_module_metadata(const SafetensorsFile& file);

// Over every field but itself and the bytes of the tensors, by name: the field "header_checksum".
std::string module_header_checksum(const std::map<std::string, std::string>& metadata,
                                   const std::map<std::string, size_t>& sizes);

// 16 hexadecimal digits.
std::string hash_text(uint64_t hash);

}  // namespace zoetrope
