// SPDX-License-Identifier: Apache-2.0
// What the operating system says of this machine and process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

// The processor's name, or "unknown processor".
std::string processor_name();

// Bytes of main memory.
int64_t total_memory();

// The name of this machine in its network; empty if it has none.
std::string host_name();

// Of the first processor now, in MHz; 0 if the system does not say.
double processor_megahertz();

struct ProcessorCache {
  std::string type;  // "Data", "Instruction" or "Unified"
  int level = 0;
  int64_t bytes = 0;
  int shared_by = 0;  // processors
};

// Of the first processor; empty if the system does not say.
std::vector<ProcessorCache> processor_caches();

// Processes that want to run, averaged over 1, 5 and 15 minutes; 0 if the system does not say.
std::array<double, 3> load_averages();

// Asks for pages of 2 MiB where `data` covers them, which takes fewer walks of page tables; where
// the system gives none, all is as before.
void prefer_huge_pages(void* data, size_t bytes);
inline constexpr size_t kHugePage = size_t{1} << 21;

// Largest resident size of this process so far, in bytes (VmHWM).
int64_t peak_resident_memory();

// Gives free memory back and makes peak_resident_memory() the largest from now on, where the system
// lets it.
void reset_peak_resident_memory();

}  // namespace zoetrope
