// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_queue.h"

#include <algorithm>
#include <string>

#include "base/fail.h"
#include "cuda/cuda_error.h"
#include "cuda/cuda_steps.h"
#include "zoetrope/error.h"

namespace zoetrope::cuda {
namespace {

void launch_and_observe(const Step& step, const StepContext& context, const RunControl& control) {
  if (!control.observer) return launch_step(step, context);
  Event start(Event::Kind::kTimed);
  Event end(Event::Kind::kTimed);
  start.record(context.stream);
  launch_step(step, context);
  end.record(context.stream);
  control.observer(step, context.launch, end.seconds_since(start));
}

void check_cancelled(const RunControl& control) {
  if (control.cancelled && control.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
}

void launch_steps(const StepContext& context, const RunControl& control) {
  const auto total = static_cast<int64_t>(context.plan.steps.size());
  for (int64_t i = 0; i < total; ++i) {
    check_cancelled(control);
    launch_and_observe(context.plan.steps[static_cast<size_t>(i)], context, control);
    if (control.progress) control.progress(i + 1, total);
  }
}

}  // namespace

CudaQueue::CudaQueue(int device, DeviceHeap& heap, std::optional<void*> stream)
    : device_(device),
      heap_(heap),
      own_(stream ? std::nullopt : std::optional<OwnStream>(std::in_place)),
      stream_(own_ ? own_->get() : static_cast<cudaStream_t>(*stream)),
      edges_(device, stream_),
      run_ends_{Event(Event::Kind::kOrder), Event(Event::Kind::kOrder)} {}

// Work under way may still use what the queue holds. The caller's stream may be the default one,
// which is that of the current device.
CudaQueue::~CudaQueue() {
  try {
    const DeviceScope scope(device_);
    (void)cudaStreamSynchronize(stream_);
  } catch (const Error&) {  // the device is lost, and its work with it
  }
}

std::unique_ptr<Memory> CudaQueue::allocate(int64_t bytes) {
  const DeviceScope scope(device_);
  return heap_.allocate(bytes, stream_);
}

void CudaQueue::copy_from_host(std::byte* device, const void* host, int64_t bytes) {
  const DeviceScope scope(device_);
  copy_and_wait(device, host, bytes, cudaMemcpyHostToDevice, stream_);
}

void CudaQueue::copy_to_host(void* host, const std::byte* device, int64_t bytes) {
  const DeviceScope scope(device_);
  copy_and_wait(host, device, bytes, cudaMemcpyDeviceToHost, stream_);
}

void CudaQueue::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes == 0) return;
  const DeviceScope scope(device_);
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream_),
        "copy");
}

void CudaQueue::zero(std::byte* device, int64_t bytes) {
  if (bytes == 0) return;
  const DeviceScope scope(device_);
  check(cudaMemsetAsync(device, 0, static_cast<size_t>(bytes), stream_), "zero");
}

void CudaQueue::copy_edge(const EdgeCopy& edge, const RunControl& control) {
  const DeviceScope scope(device_);
  edges_.copy(edge, control);
}

// At most two runs are under way, so that one who cancels need not wait for a whole clip.
void CudaQueue::run(const Plan& plan, const Launch& launch, const RunControl& control) {
  const DeviceScope scope(device_);
  Event& end = run_ends_[runs_++ % run_ends_.size()];
  end.wait();
  check_cancelled(control);
  if (control.observer || !replay(plan, launch)) {
    launch_steps({plan, launch, stream_}, control);
  } else if (control.progress) {
    const auto total = static_cast<int64_t>(plan.steps.size());
    control.progress(total, total);
  }
  end.record(stream_);
}

// A launch is captured the second time: many come only once.
bool CudaQueue::replay(const Plan& plan, const Launch& launch) {
  const auto known = std::ranges::find_if(
      captured_, [&](const CapturedPlan& captured) { return captured.is_of(plan, launch); });
  if (known == captured_.end()) {
    captured_.emplace_back(plan, launch);
    return false;
  }
  const auto launch_all = [&](cudaStream_t stream) { launch_steps({plan, launch, stream}, {}); };
  if (!known->is_captured() && !known->capture(launch_all)) return false;
  known->start(stream_);
  return true;
}

void CudaQueue::finish() {
  if (own_) return wait();
  const DeviceScope scope(device_);
  edges_.finish();
}

void CudaQueue::wait() {
  const DeviceScope scope(device_);
  edges_.finish();
  check(cudaStreamSynchronize(stream_), "cuda:" + std::to_string(device_));
}

}  // namespace zoetrope::cuda
