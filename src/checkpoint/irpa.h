// SPDX-License-Identifier: Apache-2.0
// IREE's parameter archive, version 0: a header, a table of entries, their names and metadata, then
// the tensors' bytes. Numbers are little-endian and packed. The format itself knows no types and
// shapes; IREE's Python tools keep them in the metadata, as JSON after a word that says whose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace zoetrope {

inline constexpr std::string_view kIrpaMagic = "IRPA";
inline constexpr size_t kIrpaHeaderSize = 88;
inline constexpr size_t kIrpaEntryAlignment = 16;  // from the start of the table
inline constexpr size_t kIrpaDataEntrySize = 76;

enum class IrpaEntry : uint32_t { kSkip = 0, kSplat = 1, kData = 2, kExternal = 3 };

// iree-turbine's, which iree.runtime also reads; iree.runtime's own.
inline constexpr std::string_view kIrpaTurbineMetadata = "PYTORCH:";
inline constexpr std::string_view kIrpaRuntimeMetadata = "TENSORv0:";

// Entries without a type and shape are taken for vectors of bytes. Throws kIo, kCheckpoint.
std::shared_ptr<const Checkpoint> open_irpa(const std::string& path);

}  // namespace zoetrope
