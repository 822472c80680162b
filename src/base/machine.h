// SPDX-License-Identifier: Apache-2.0
// What the operating system says of this machine and process.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope {

// The processor's name, or "unknown processor".
std::string processor_name();

// Bytes of main memory.
int64_t total_memory();

// Largest resident size of this process so far, in bytes (VmHWM).
int64_t peak_resident_memory();

}  // namespace zoetrope
