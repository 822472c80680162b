// SPDX-License-Identifier: Apache-2.0
#include "runtime/backends.h"

#include <algorithm>
#include <thread>

#include "base/fail.h"
#include "base/machine.h"
#include "cpu/cpu_backend.h"
#include "runtime/boundary.h"
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
  if (static_cast<bool>(options.allocator.allocate) !=
      static_cast<bool>(options.allocator.deallocate)) {
    fail(ErrorCode::kInvalidArgument,
         "allocator: expected allocate and deallocate, found one of them; set both or neither");
  }
  return cpu::open_cpu_backend(options.threads, options.allocator);
}

double v0::measure_peak_flops(const LoadOptions& options, DType operands) {
  return at_boundary([&] { return open_backend(options)->measure_peak_flops(operands); });
}

double v0::measure_copy_bandwidth(const LoadOptions& options) {
  return at_boundary([&] { return open_backend(options)->measure_copy_bandwidth(); });
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
