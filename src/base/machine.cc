// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

namespace zoetrope {
namespace {

// The text after "key" and a colon in a /proc file, or empty.
std::string proc_entry(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

std::string processor_name() {
  const std::string name = proc_entry("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown processor" : name;
}

int64_t total_memory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

int64_t peak_resident_memory() {
  const std::string kib = proc_entry("/proc/self/status", "VmHWM");
  return kib.empty() ? 0 : std::stoll(kib) * 1024;
}

}  // namespace zoetrope
