// SPDX-License-Identifier: Apache-2.0
#include "runtime/backends.h"

#include <algorithm>
#include <thread>

#include "base/fail.h"
#include "base/machine.h"
#include "cpu/cpu_backend.h"
#include "zoetrope/tools.h"

namespace zoetrope {

std::shared_ptr<const Backend> open_backend(const LoadOptions& options) {
  if (options.device.starts_with("cuda")) {
    fail(ErrorCode::kUnsupported, "{}: this build has no CUDA backend; use the device cpu",
         options.device);
  }
  if (options.device != "auto" && options.device != "cpu") {
    fail(ErrorCode::kInvalidArgument, "expected a device of auto or cpu, found {}", options.device);
  }
  constexpr int kMaxThreads = 1024;
  if (options.threads < 0 || options.threads > kMaxThreads) {
    fail(ErrorCode::kInvalidArgument, "expected 0 to {} threads, found {}", kMaxThreads,
         options.threads);
  }
  return cpu::open_cpu_backend(options.threads, options.allocator);
}

std::vector<DeviceDescription> v0::devices() {
  return {{.id = "cpu",
           .name = processor_name(),
           .instructions = cpu::default_instruction_set(),
           .threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
           .memory = total_memory(),
           .dtypes = cpu::operand_types()}};
}

}  // namespace zoetrope
