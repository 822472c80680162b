// SPDX-License-Identifier: Apache-2.0
#include "runtime/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>

#include "base/fail.h"
#include "base/machine.h"
#include "base/parse_number.h"
#include "cpu/cpu_backend.h"
#include "cuda/cuda_backend.h"
#include "runtime/boundary.h"
#include "zoetrope/tools.h"

namespace zoetrope {

namespace {

void check_options(const LoadOptions& options) {
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
}

// Of "cuda" or "cuda:N"; empty if `device` is neither.
std::optional<int> cuda_index(std::string_view device) {
  constexpr std::string_view kCuda = "cuda";
  if (device == kCuda) return 0;
  if (!device.starts_with("cuda:")) return std::nullopt;
  return parse_number<int>(device.substr(kCuda.size() + 1));
}

std::shared_ptr<const Backend> open_best(const LoadOptions& options) {
  const std::string why_no_gpu = cuda::why_none();
  if (why_no_gpu.empty()) {
    const std::string best = cuda::usable_devices().front().id;
    return cuda::open_cuda_backend(cuda_index(best).value_or(0), options.allocator);
  }
  if (options.log) {
    options.log(LogLevel::kInfo, fmt::format("device auto: {}; using the CPU", why_no_gpu));
  }
  return cpu::open_cpu_backend(options.threads, options.allocator);
}

}  // namespace

std::shared_ptr<const Backend> open_backend(const LoadOptions& options) {
  check_options(options);
  if (options.device == "auto") return open_best(options);
  if (options.device == "cpu") return cpu::open_cpu_backend(options.threads, options.allocator);
  const std::optional<int> index = cuda_index(options.device);
  if (!index) {
    fail(ErrorCode::kInvalidArgument, "expected a device of auto, cpu, cuda or cuda:N, found {}",
         options.device);
  }
  return cuda::open_cuda_backend(*index, options.allocator);
}

double v0::measure_peak_flops(const LoadOptions& options, DType operands) {
  return at_boundary([&] { return open_backend(options)->measure_peak_flops(operands); });
}

double v0::measure_copy_bandwidth(const LoadOptions& options) {
  return at_boundary([&] { return open_backend(options)->measure_copy_bandwidth(); });
}

std::vector<DeviceDescription> v0::devices() {
  std::vector<DeviceDescription> found = cuda::usable_devices();
  found.push_back({.id = "cpu",
                   .name = processor_name(),
                   .instructions = cpu::default_instruction_set(),
                   .threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
                   .memory = total_memory(),
                   .dtypes = cpu::operand_types()});
  return found;
}

}  // namespace zoetrope
