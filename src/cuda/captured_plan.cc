// SPDX-License-Identifier: Apache-2.0
#include "cuda/captured_plan.h"

#include <utility>

#include "cuda/cuda_error.h"
#include "cuda/cuda_stream.h"

namespace zoetrope::cuda {
namespace {

// What was launched into `stream` since its capture began. Null if that failed.
cudaGraph_t end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) (void)cudaGetLastError();
  return graph;
}

}  // namespace

CapturedPlan::~CapturedPlan() {
  if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
}

CapturedPlan::CapturedPlan(CapturedPlan&& other) noexcept
    : plan_(other.plan_),
      n_(other.n_),
      buffers_(std::move(other.buffers_)),
      constants_(std::move(other.constants_)),
      executable_(std::exchange(other.executable_, nullptr)) {}

void CapturedPlan::capture(const std::function<void(cudaStream_t)>& launch_steps) {
  const OwnStream stream;  // the caller's may be one that cannot be captured
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), plan_->entry);
  try {
    launch_steps(stream.get());
  } catch (...) {
    if (cudaGraph_t graph = end_capture(stream.get())) (void)cudaGraphDestroy(graph);
    throw;
  }
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream.get(), &graph), plan_->entry);
  const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
  (void)cudaGraphDestroy(graph);
  check(error, plan_->entry);
}

void CapturedPlan::start(cudaStream_t stream) const {
  check(cudaGraphLaunch(executable_, stream), plan_->entry);
}

}  // namespace zoetrope::cuda
