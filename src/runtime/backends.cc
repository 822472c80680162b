// SPDX-License-Identifier: Apache-2.0
#include "runtime/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/machine.h"
#include "base/parse_number.h"
#include "base/utf8.h"
#include "cpu/cpu_backend.h"
#include "cpu/cpu_target.h"
#include "cuda/cuda_backend.h"
#include "runtime/boundary.h"
#include "zoetrope/tools.h"

namespace zoetrope {

namespace {

// Of "cuda" or "cuda:N"; empty if `device` is neither.
std::optional<int> cuda_index(std::string_view device) {
  constexpr std::string_view kCuda = "cuda";
  if (device == kCuda) return 0;
  if (!device.starts_with("cuda:")) return std::nullopt;
  return parse_number<int>(device.substr(kCuda.size() + 1));
}

int best_cuda_index() { return cuda_index(cuda::usable_devices().front().id).value_or(0); }

constexpr std::string_view kCudaTarget = "cuda-sm";

// Of "cuda-sm90".
std::optional<int> capability_of(std::string_view target) {
  if (!target.starts_with(kCudaTarget)) return std::nullopt;
  return parse_number<int>(target.substr(kCudaTarget.size()));
}

cpu::CpuTarget cpu_target(const std::string& name) {
  if (name.empty()) return cpu::CpuTarget();
  std::optional<cpu::CpuTarget> target = cpu::cpu_target_named(name);
  if (target) return *std::move(target);
  std::vector<std::string> names;
  for (const cpu::CpuTarget& known : cpu::cpu_targets()) names.push_back(known.name());
  fail(ErrorCode::kInvalidArgument, "expected a target of {} or {}N (N: 90 for 9.0), found {}",
       fmt::join(names, ", "), kCudaTarget, printable(name));
}

[[noreturn]] void refuse_other_device(const LoadOptions& options) {
  fail(ErrorCode::kInvalidArgument, "the device {} does not run kernels for {}",
       printable(options.device), printable(options.target));
}

std::shared_ptr<const Backend> open_cpu(const LoadOptions& options) {
  if (capability_of(options.target)) refuse_other_device(options);
  cpu::CpuTarget target = cpu_target(options.target);
  if (!target.runs_here()) {
    fail(ErrorCode::kUnsupported, "this machine is {}, which does not run kernels for {}",
         cpu::CpuTarget().name(), target.name());
  }
  return cpu::open_cpu_backend(options.threads, options.allocator, std::move(target));
}

std::shared_ptr<const Backend> open_cuda(int index, const LoadOptions& options) {
  const std::optional<int> capability = capability_of(options.target);
  if (!capability && !options.target.empty()) {
    (void)cpu_target(options.target);  // may say that there is none
    refuse_other_device(options);
  }
  return cuda::open_cuda_backend(index, options.allocator, capability.value_or(0));
}

std::shared_ptr<const Backend> open_best(const LoadOptions& options) {
  const std::string why_no_gpu = cuda::why_none();
  if (capability_of(options.target) && !why_no_gpu.empty()) {
    fail(ErrorCode::kDevice, "{}", why_no_gpu);
  }
  const bool cpu_asked = !options.target.empty() && !capability_of(options.target);
  if (why_no_gpu.empty() && !cpu_asked) return open_cuda(best_cuda_index(), options);
  if (options.log && !cpu_asked) {
    options.log(LogLevel::kInfo, fmt::format("device auto: {}; using the CPU", why_no_gpu));
  }
  return open_cpu(options);
}

}  // namespace

void check_load_options(const LoadOptions& options) {
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
  if (options.device != "auto" && options.device != "cpu" && !cuda_index(options.device)) {
    fail(ErrorCode::kInvalidArgument, "expected a device of auto, cpu, cuda or cuda:N, found {}",
         options.device);
  }
}

std::shared_ptr<const Backend> open_backend(const LoadOptions& options) {
  check_load_options(options);
  if (options.device == "auto") return open_best(options);
  if (options.device == "cpu") return open_cpu(options);
  return open_cuda(*cuda_index(options.device), options);
}

std::unique_ptr<const Target> target_named(const std::string& name) {
  if (const std::optional<int> capability = capability_of(name)) {
    return cuda::cuda_target(*capability);
  }
  return std::make_unique<const cpu::CpuTarget>(cpu_target(name));
}

std::unique_ptr<const Target> target_of(const LoadOptions& options) {
  if (!options.target.empty()) return target_named(options.target);
  return target_named(open_backend(options)->target().name());
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
