// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_backend.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "cuda/cuda_error.h"
#include "cuda/cuda_steps.h"
#include "cuda/cuda_target.h"
#include "cuda/edge_copier.h"
#include "cuda/kernels/peak.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kAlignment = 256;
// Enough for several latent frames at once at common sizes, and small beside what a GPU of today
// has.
constexpr int64_t kMemoryBudget = int64_t{5} << 30;
constexpr int64_t kMostFramesPerStep = 8;

std::string id_of(int index) { return fmt::format("cuda:{}", index); }

int attribute_of(cudaDeviceAttr attribute, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, index), id_of(index));
  return value;
}

int capability_of(int index) {
  return 10 * attribute_of(cudaDevAttrComputeCapabilityMajor, index) +
         attribute_of(cudaDevAttrComputeCapabilityMinor, index);
}

// Devices that the driver has; 0 if there is none, or no driver, and why.
int device_count(std::string& why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess) {
    why = driver == 0 ? "no NVIDIA driver was found"
                      : fmt::format("the NVIDIA driver is of CUDA {}.{}; {}.{} or later is needed",
                                    driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                                    CUDART_VERSION % 1000 / 10);
    return 0;
  }
  const bool none = error == cudaSuccess || error == cudaErrorNoDevice;
  why = none ? "no NVIDIA GPU was found" : cudaGetErrorString(error);
  return 0;
}

std::string too_old(int index) {
  const int capability = capability_of(index);
  if (capability >= kLeastCapability) return "";
  return fmt::format("cuda:{} has compute capability {}.{}; 8.0 or later is needed", index,
                     capability / 10, capability % 10);
}

// Whether a device runs kernels for `capability`. Hopper's own, for 9.0a, run nowhere else.
bool runs(int device, int capability) {
  constexpr int kHopper = 90;
  return device == capability || (device > capability && capability != kHopper);
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cuda stream"); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cuda event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cuda event"); }

  // Seconds from `start` to here, once both have come.
  double seconds_since(const Event& start) const {
    check(cudaEventSynchronize(event_), "cuda event");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cuda event");
    return double{milliseconds} * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Of the caller's allocator, or of the driver's pool in the order of a stream, so that freeing it
// waits for nothing else on the device.
class DeviceMemory : public Memory {
 public:
  DeviceMemory(int index, cudaStream_t stream, const Allocator& allocator, int64_t bytes)
      : index_(index), stream_(stream), allocator_(allocator), size_(bytes) {
    allocated_ = static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), kAlignment));
    void* data = nullptr;
    if (allocator_.allocate) {
      data = allocator_.allocate(allocated_, kAlignment);
    } else if (cudaMallocAsync(&data, allocated_, stream_) != cudaSuccess) {
      (void)cudaGetLastError();
      data = nullptr;
    }
    if (data == nullptr) refuse();
    data_ = static_cast<std::byte*>(data);
  }

  ~DeviceMemory() override {
    if (allocator_.allocate) {
      (void)cudaStreamSynchronize(stream_);
      allocator_.deallocate(data_, allocated_);
    } else {
      (void)cudaFreeAsync(data_, stream_);
    }
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const override { return data_; }
  int64_t size() const override { return size_; }

 private:
  [[noreturn]] void refuse() const {
    size_t free = 0;
    size_t total = 0;
    check(cudaMemGetInfo(&free, &total), id_of(index_));
    fail(ErrorCode::kOutOfMemory,
         "cuda:{}: {} MiB more were needed, and {} of {} MiB are free; use a smaller size, fewer "
         "frames per step or a memory limit",
         index_, allocated_ >> 20, free >> 20, total >> 20);
  }

  int index_;
  cudaStream_t stream_;
  const Allocator& allocator_;  // the backend's, which outlives its memory
  std::byte* data_ = nullptr;
  size_t allocated_ = 0;
  int64_t size_ = 0;
};

class CudaBackend : public Backend {
 public:
  CudaBackend(int index, Allocator allocator, int capability)
      : index_(index),
        target_(capability),
        allocator_(std::move(allocator)),
        edges_(index, stream_.get()) {}

  const Target& target() const override { return target_; }
  Device device() const override { return {.kind = DeviceKind::kCuda, .index = index_}; }
  int64_t default_frames_per_step() const override { return kMostFramesPerStep; }
  int64_t memory_budget() const override { return kMemoryBudget; }

  int64_t memory_capacity() const override {
    const DeviceScope scope(index_);
    size_t free = 0;
    size_t total = 0;
    check(cudaMemGetInfo(&free, &total), id_of(index_));
    return static_cast<int64_t>(total);
  }

  double measure_peak_flops(DType operands) const override {
    const DeviceScope scope(index_);
    const DeviceMemory sink(index_, stream_.get(), allocator_, sizeof(float));
    const int processors = attribute_of(cudaDevAttrMultiProcessorCount, index_);
    const bool warpgroups = target_.capability() == 90 && operands != DType::kFloat32;
    const auto multiply = warpgroups ? multiply_in_warpgroups : multiply_in_registers;
    const int blocks = warpgroups ? processors : 4 * processors;
    double flops = 0;
    const double seconds = median_seconds([&] {
      check(
          multiply(operands, blocks, reinterpret_cast<float*>(sink.data()), &flops, stream_.get()),
          id_of(index_));
    });
    return flops / seconds;
  }

  double measure_copy_bandwidth() const override {
    constexpr int64_t kBytes = int64_t{128} << 20;
    const DeviceScope scope(index_);
    const DeviceMemory from(index_, stream_.get(), allocator_, kBytes);
    const DeviceMemory to(index_, stream_.get(), allocator_, kBytes);
    const double seconds = median_seconds([&] {
      check(
          cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream_.get()),
          id_of(index_));
    });
    return 2.0 * kBytes / seconds;
  }

  std::unique_ptr<Memory> allocate(int64_t bytes) const override {
    const DeviceScope scope(index_);
    return std::make_unique<DeviceMemory>(index_, stream_.get(), allocator_, bytes);
  }

  void copy_from_host(std::byte* device, const void* host, int64_t bytes) const override {
    copy_and_wait(device, host, bytes, cudaMemcpyHostToDevice);
  }
  void copy_to_host(void* host, const std::byte* device, int64_t bytes) const override {
    copy_and_wait(host, device, bytes, cudaMemcpyDeviceToHost);
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) const override {
    if (bytes == 0) return;
    const DeviceScope scope(index_);
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                          stream_.get()),
          id_of(index_));
  }
  void zero(std::byte* device, int64_t bytes) const override {
    if (bytes == 0) return;
    const DeviceScope scope(index_);
    check(cudaMemsetAsync(device, 0, static_cast<size_t>(bytes), stream_.get()), id_of(index_));
  }

  void copy_edge(const EdgeCopy& edge, const RunControl& control) const override {
    const DeviceScope scope(index_);
    edges_.copy(edge, control);
  }

  void run(const Plan& plan, const Launch& launch, const RunControl& control) const override {
    const DeviceScope scope(index_);
    const StepContext context = {plan, launch, stream_.get()};
    const auto total = static_cast<int64_t>(plan.steps.size());
    for (int64_t i = 0; i < total; ++i) {
      if (control.cancelled && control.cancelled()) cancel();
      const Step& step = plan.steps[static_cast<size_t>(i)];
      launch_and_observe(step, context, control);
      if (control.progress) control.progress(i + 1, total);
    }
    check(cudaStreamSynchronize(stream_.get()), plan.entry);
  }

 private:
  // Steps under way still use the launch's memory.
  [[noreturn]] void cancel() const {
    check(cudaStreamSynchronize(stream_.get()), id_of(index_));
    fail(ErrorCode::kCancelled, "cancelled");
  }

  void launch_and_observe(const Step& step, const StepContext& context,
                          const RunControl& control) const {
    if (!control.observer) return launch_step(step, context);
    Event start;
    Event end;
    start.record(stream_.get());
    launch_step(step, context);
    end.record(stream_.get());
    control.observer(step, context.launch, end.seconds_since(start));
  }

  template <typename Work>
  double median_seconds(const Work& work) const {
    std::array<double, 7> seconds = {};
    work();
    for (double& result : seconds) {
      Event start;
      Event end;
      start.record(stream_.get());
      work();
      end.record(stream_.get());
      result = end.seconds_since(start);
    }
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
  }

  void copy_and_wait(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    const DeviceScope scope(index_);
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_.get()),
          id_of(index_));
    check(cudaStreamSynchronize(stream_.get()), id_of(index_));
  }

  int index_;
  CudaTarget target_;
  Allocator allocator_;
  Stream stream_;
  mutable EdgeCopier edges_;  // safe from several threads
};

}  // namespace

std::vector<DeviceDescription> usable_devices() {
  std::string why;
  const int count = device_count(why);
  std::vector<DeviceDescription> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess || !too_old(index).empty()) {
      continue;
    }
    const int capability = capability_of(index);
    devices.push_back({.id = id_of(index),
                       .name = properties.name,
                       .instructions = fmt::format("sm_{}", capability),
                       .memory = static_cast<int64_t>(properties.totalGlobalMem),
                       .dtypes = "bfloat16, float16, float32"});
  }
  return devices;
}

std::string why_none() {
  std::string why;
  const int count = device_count(why);
  for (int index = 0; index < count; ++index) {
    why = too_old(index);
    if (why.empty()) return "";
  }
  return why;
}

std::unique_ptr<Backend> open_cuda_backend(int index, Allocator allocator, int capability) {
  std::string why;
  const int count = device_count(why);
  if (count == 0) fail(ErrorCode::kDevice, "cuda:{}: {}; use the device cpu", index, why);
  if (index < 0 || index >= count) {
    fail(ErrorCode::kDevice, "cuda:{}: there is no such device, only cuda:0 to cuda:{}", index,
         count - 1);
  }
  const std::string old = too_old(index);
  if (!old.empty()) fail(ErrorCode::kDevice, "{}; use the device cpu", old);
  const int own = capability_of(index);
  if (!runs(own, capability == 0 ? own : capability)) {
    fail(ErrorCode::kDevice,
         "cuda:{}: kernels for cuda-sm{} do not run on compute capability {}.{}", index, capability,
         own / 10, own % 10);
  }
  const DeviceScope scope(index);
  return std::make_unique<CudaBackend>(index, std::move(allocator),
                                       capability == 0 ? own : capability);
}

std::unique_ptr<const Target> cuda_target(int capability) {
  constexpr int kMostCapability = 129;
  if (capability < kLeastCapability || capability > kMostCapability) {
    fail(ErrorCode::kUnsupported, "cuda-sm{}: expected a compute capability from {} to {}",
         capability, kLeastCapability, kMostCapability);
  }
  return std::make_unique<CudaTarget>(capability);
}

}  // namespace zoetrope::cuda
