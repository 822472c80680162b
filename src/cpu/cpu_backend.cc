// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/machine.h"
#include "base/shape.h"
#include "base/thread_pool.h"
#include "cpu/cpu_steps.h"
#include "cpu/cpu_target.h"
#include "cpu/kernels/edge_copy.h"
#include "cpu/kernels/peak.h"

namespace zoetrope::cpu {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

// Large memory in huge pages: convs walk lines of several frames at a time, each in pages of its
// own.
void* allocate_in_large_pages(size_t bytes, size_t alignment) {
  if (bytes < 2 * kHugePage) return std::aligned_alloc(alignment, bytes);
  void* data = nullptr;
  if (posix_memalign(&data, kHugePage, bytes) != 0) return nullptr;
  prefer_huge_pages(data, bytes / kHugePage * kHugePage);
  return data;
}

Allocator or_default(Allocator allocator) {
  if (allocator.allocate) return allocator;
  return {.allocate = allocate_in_large_pages,
          .deallocate = [](void* data, size_t /*bytes*/) { std::free(data); }};
}

class HostMemory : public Memory {
 public:
  HostMemory(const Allocator& allocator, int64_t bytes) : allocator_(allocator), size_(bytes) {
    allocated_ = static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), kAlignment));
    data_ = static_cast<std::byte*>(allocator_.allocate(allocated_, kAlignment));
    if (data_ == nullptr) {
      fail(ErrorCode::kOutOfMemory, "cpu: {} more bytes were needed and not there; {}", bytes,
           "a smaller video or fewer frames per step need less");
    }
  }
  ~HostMemory() override { allocator_.deallocate(data_, allocated_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const override { return data_; }
  int64_t size() const override { return size_; }

 private:
  const Allocator& allocator_;  // the backend's, which outlives its memory
  std::byte* data_ = nullptr;
  size_t allocated_ = 0;
  int64_t size_ = 0;
};

StridedTensor strided(const TensorView& view) {
  const std::vector<int64_t> strides = strides_of(view);
  StridedTensor tensor = {.data = view.data, .dtype = view.dtype};
  std::ranges::copy(strides, tensor.strides.begin());
  return tensor;
}

void check_place(const TensorView& view) {
  if (view.device.kind == DeviceKind::kCpu) return;
  fail(ErrorCode::kInvalidArgument,
       "tensor: expected memory of the host, found cuda:{}; the model was loaded on the device cpu",
       view.device.index);
}

void run_and_observe(const Step& step, const StepContext& context, const RunControl& control) {
  if (!control.observer) return run_step(step, context);
  const auto start = std::chrono::steady_clock::now();
  run_step(step, context);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  control.observer(step, context.launch, elapsed.count());
}

class CpuBackend : public Backend {
 public:
  CpuBackend(int threads, Allocator allocator, CpuTarget target)
      : target_(std::move(target)), pool_(threads), allocator_(or_default(std::move(allocator))) {}

  const Target& target() const override { return target_; }
  int64_t default_frames_per_step() const override { return 1; }
  int threads() const override { return pool_.threads(); }
  int64_t memory_capacity() const override { return total_memory(); }

  double measure_peak_flops(DType operands) const override {
    return cpu::measure_peak_flops(operands, pool_);
  }
  double measure_copy_bandwidth() const override { return cpu::measure_copy_bandwidth(pool_); }

  std::unique_ptr<Memory> allocate(int64_t bytes) const override {
    return std::make_unique<HostMemory>(allocator_, bytes);
  }

  bool reads_in_place(const std::byte* host) const override {
    return reinterpret_cast<uintptr_t>(host) % kAlignment == 0;
  }
  void copy_from_host(std::byte* device, const void* host, int64_t bytes) const override {
    std::memcpy(device, host, static_cast<size_t>(bytes));
  }
  void copy_to_host(void* host, const std::byte* device, int64_t bytes) const override {
    std::memcpy(host, device, static_cast<size_t>(bytes));
  }

  std::unique_ptr<Queue> open_queue(std::optional<void*> cuda_stream) const override;

  void copy_edge(const EdgeCopy& edge, const RunControl& control) const {
    ZOETROPE_CHECK(edge.from.shape.size() == 4 && edge.from.shape == edge.to.shape,
                   to_string(edge.from.shape) + " to " + to_string(edge.to.shape));
    check_place(edge.from);
    check_place(edge.to);
    EdgeCopyArgs args = {.from = strided(edge.from),
                         .to = strided(edge.to),
                         .from_range = edge.from_range,
                         .to_range = edge.to_range,
                         .scale = edge.scale,
                         .offset = edge.offset,
                         .clamp = edge.clamp,
                         .tally = edge.tally,
                         .first_frame = edge.first_frame};
    std::ranges::copy(edge.from.shape, args.shape.begin());
    edge_copy(args, pool_, {.cancelled = control.cancelled});
  }

  void run(const Plan& plan, const Launch& launch, const RunControl& control) const {
    const LoopControl loop = {.cancelled = control.cancelled};
    const StepContext context = {plan, launch, target_, pool_, loop};
    const auto total = static_cast<int64_t>(plan.steps.size());
    for (int64_t i = 0; i < total; ++i) {
      const Step& step = plan.steps[static_cast<size_t>(i)];
      run_and_observe(step, context, control);
      if (control.progress) control.progress(i + 1, total);
    }
  }

 private:
  CpuTarget target_;
  mutable ThreadPool pool_;  // safe from several threads
  Allocator allocator_;
};

// All work is done when a call returns.
class CpuQueue : public Queue {
 public:
  explicit CpuQueue(const CpuBackend& backend) : backend_(backend) {}

  std::unique_ptr<Memory> allocate(int64_t bytes) override { return backend_.allocate(bytes); }
  void copy_from_host(std::byte* device, const void* host, int64_t bytes) override {
    backend_.copy_from_host(device, host, bytes);
  }
  void copy_to_host(void* host, const std::byte* device, int64_t bytes) override {
    backend_.copy_to_host(host, device, bytes);
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void zero(std::byte* device, int64_t bytes) override {
    std::memset(device, 0, static_cast<size_t>(bytes));
  }
  void copy_edge(const EdgeCopy& edge, const RunControl& control) override {
    backend_.copy_edge(edge, control);
  }
  void run(const Plan& plan, const Launch& launch, const RunControl& control) override {
    backend_.run(plan, launch, control);
  }
  void finish() override {}
  void wait() override {}

 private:
  const CpuBackend& backend_;
};

std::unique_ptr<Queue> CpuBackend::open_queue(std::optional<void*> cuda_stream) const {
  if (cuda_stream) {
    fail(ErrorCode::kInvalidArgument,
         "cuda_stream: the model was loaded on the device cpu, which has none; leave it out");
  }
  return std::make_unique<CpuQueue>(*this);
}

}  // namespace

std::unique_ptr<Backend> open_cpu_backend(int threads, Allocator allocator, CpuTarget target) {
  ZOETROPE_CHECK(target.runs_here(), target.name());
  return std::make_unique<CpuBackend>(threads, std::move(allocator), std::move(target));
}

std::string default_instruction_set() { return CpuTarget().instruction_set_name(); }

std::string operand_types() {
  const bool both = CpuTarget().has(DType::kBFloat16);
  return both ? "float32, bfloat16" : "float32";
}

}  // namespace zoetrope::cpu
