// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_backend.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "cuda/conv_kernels.h"
#include "cuda/cuda_error.h"
#include "cuda/cuda_queue.h"
#include "cuda/cuda_stream.h"
#include "cuda/cuda_target.h"
#include "cuda/device_heap.h"
#include "cuda/kernels/peak.h"

namespace zoetrope::cuda {
namespace {

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

// Whether a device runs kernels for `capability`.
bool runs(int device, int capability) {
  return device == capability || (device > capability && capability != kHopper);
}

class CudaBackend : public Backend {
 public:
  CudaBackend(int index, Allocator allocator, int capability)
      : index_(index), target_(capability), heap_(index, std::move(allocator)) {}

  const Target& target() const override { return target_; }
  Device device() const override { return {.kind = DeviceKind::kCuda, .index = index_}; }
  int64_t default_frames_per_step() const override { return kMostFramesPerStep; }
  int64_t memory_budget() const override { return kMemoryBudget; }
  int64_t memory_capacity() const override { return heap_.capacity(); }
  int64_t memory_free() const override { return heap_.free_bytes(); }
  MemoryUse memory_use() const override { return heap_.use(); }

  double measure_peak_flops(DType operands) const override {
    const DeviceScope scope(index_);
    const auto sink = heap_.allocate(sizeof(float), stream_.get());
    const int processors = attribute_of(cudaDevAttrMultiProcessorCount, index_);
    const bool warpgroups = target_.capability() == kHopper && operands != DType::kFloat32;
    const auto multiply = warpgroups ? multiply_in_warpgroups : multiply_in_registers;
    const int blocks = warpgroups ? processors : 4 * processors;
    double flops = 0;
    const double seconds = median_seconds([&] {
      check(
          multiply(operands, blocks, reinterpret_cast<float*>(sink->data()), &flops, stream_.get()),
          id_of(index_));
    });
    return flops / seconds;
  }

  double measure_copy_bandwidth() const override {
    constexpr int64_t kBytes = int64_t{128} << 20;
    const DeviceScope scope(index_);
    const auto from = heap_.allocate(kBytes, stream_.get());
    const auto to = heap_.allocate(kBytes, stream_.get());
    const double seconds = median_seconds([&] {
      check(cudaMemcpyAsync(to->data(), from->data(), kBytes, cudaMemcpyDeviceToDevice,
                            stream_.get()),
            id_of(index_));
    });
    return 2.0 * kBytes / seconds;
  }

  // There for every stream at once.
  std::unique_ptr<Memory> allocate(int64_t bytes) const override {
    const DeviceScope scope(index_);
    std::unique_ptr<Memory> memory = heap_.allocate(bytes, stream_.get());
    check(cudaStreamSynchronize(stream_.get()), id_of(index_));
    return memory;
  }
  void trim() const override {
    const DeviceScope scope(index_);
    check(cudaStreamSynchronize(stream_.get()), id_of(index_));  // weights are freed in its order
    heap_.trim();
  }
  void copy_from_host(std::byte* device, const void* host, int64_t bytes) const override {
    const DeviceScope scope(index_);
    copy_and_wait(device, host, bytes, cudaMemcpyHostToDevice, stream_.get());
  }
  void copy_to_host(void* host, const std::byte* device, int64_t bytes) const override {
    const DeviceScope scope(index_);
    copy_and_wait(host, device, bytes, cudaMemcpyDeviceToHost, stream_.get());
  }

  std::unique_ptr<Queue> open_queue(std::optional<void*> cuda_stream) const override {
    const DeviceScope scope(index_);
    return std::make_unique<CudaQueue>(index_, heap_, cuda_stream);
  }

 private:
  template <typename Work>
  double median_seconds(const Work& work) const {
    std::array<double, 7> seconds = {};
    work();
    for (double& result : seconds) {
      Event start(Event::Kind::kTimed);
      Event end(Event::Kind::kTimed);
      start.record(stream_.get());
      work();
      end.record(stream_.get());
      result = end.seconds_since(start);
    }
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
  }

  int index_;
  CudaTarget target_;
  mutable DeviceHeap heap_;  // safe from several threads
  OwnStream stream_;         // of weights and measurements
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
