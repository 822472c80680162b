// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
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

// The first line of a file, or empty.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Set bits of a hexadecimal mask such as "00000000,00000003".
int bits_of(std::string_view mask) {
  int count = 0;
  for (const char digit : mask) {
    const std::string text(1, digit);
    count += std::popcount(static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 16)));
  }
  return count;
}

// "48K", "2048K", "260M"
int64_t bytes_of(const std::string& size) {
  char* unit = nullptr;
  const int64_t number = std::strtoll(size.c_str(), &unit, 10);
  const int64_t scale = *unit == 'K' ? int64_t{1} << 10 : *unit == 'M' ? int64_t{1} << 20 : 1;
  return std::clamp<int64_t>(number, 0, int64_t{1} << 40) * scale;
}

}  // namespace

void prefer_huge_pages(void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); }

std::string processor_name() {
  const std::string name = proc_entry("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown processor" : name;
}

int64_t total_memory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

std::string host_name() { return first_line("/proc/sys/kernel/hostname"); }

double processor_megahertz() {
  return std::strtod(proc_entry("/proc/cpuinfo", "cpu MHz").c_str(), nullptr);
}

std::vector<ProcessorCache> processor_caches() {
  std::vector<ProcessorCache> caches;
  constexpr int kMostCaches = 16;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i);
    const std::string type = first_line(folder + "/type");
    if (type.empty()) break;
    caches.push_back({.type = type,
                      .level = std::atoi(first_line(folder + "/level").c_str()),
                      .bytes = bytes_of(first_line(folder + "/size")),
                      .shared_by = bits_of(first_line(folder + "/shared_cpu_map"))});
  }
  return caches;
}

std::array<double, 3> load_averages() {
  std::array<double, 3> loads = {};
  if (getloadavg(loads.data(), static_cast<int>(loads.size())) < 0) loads = {};
  return loads;
}

int64_t peak_resident_memory() {
  const std::string kib = proc_entry("/proc/self/status", "VmHWM");
  return kib.empty() ? 0 : std::stoll(kib) * 1024;
}

void reset_peak_resident_memory() {
  malloc_trim(0);                     // what is free may still be resident
  constexpr const char* kPeak = "5";  // proc(5): resets VmHWM
  std::ofstream("/proc/self/clear_refs") << kPeak;
}

}  // namespace zoetrope
