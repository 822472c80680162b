// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/standard_streams.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void print_json(const DeviceDescription& device) {
  const nlohmann::ordered_json line = {
      {"id", device.id},           {"name", device.name},     {"instructions", device.instructions},
      {"threads", device.threads}, {"memory", device.memory}, {"dtypes", device.dtypes}};
  print(json_line(line) + "\n");
}

}  // namespace

int run_devices(const Options& options) {
  const std::vector<DeviceDescription> found = devices();
  if (options.json) {
    for (const DeviceDescription& device : found) print_json(device);
    return 0;
  }
  size_t width = 4;
  for (const DeviceDescription& device : found) width = std::max(width, device.name.size());
  print(fmt::format("{:<8}{:<{}}  {:<12} {:>7}  {:>10}  {}\n", "DEVICE", "NAME", width,
                    "INSTRUCTIONS", "THREADS", "MEMORY", "TYPES"));
  for (const DeviceDescription& device : found) {
    print(fmt::format("{:<8}{:<{}}  {:<12} {:>7}  {:>6.1f} GiB  {}\n", device.id, device.name,
                      width, device.instructions, device.threads, gib(device.memory),
                      device.dtypes));
  }
  return 0;
}

}  // namespace zoetrope::cli
