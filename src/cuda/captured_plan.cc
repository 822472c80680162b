// SPDX-License-Identifier: Apache-2.0
#include "cuda/captured_plan.h"

#include <utility>

#include "cuda/cuda_error.h"
#include "cuda/cuda_stream.h"
#include "zoetrope/error.h"

namespace zoetrope::cuda {
namespace {

// What was launched into `stream` since its capture began; null if that failed.
cudaGraph_t end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) return graph;
  (void)cudaGetLastError();
  return nullptr;
}

}  // namespace

CapturedPlan::~CapturedPlan() {
  if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
}

CapturedPlan::CapturedPlan(CapturedPlan&& other) noexcept
    : plan_(other.plan_),
      launch_(std::move(other.launch_)),
      executable_(std::exchange(other.executable_, nullptr)) {}

bool CapturedPlan::capture(const std::function<void(cudaStream_t)>& launch_steps) {
  const OwnStream stream;  // the caller's may be one that cannot be captured
  if (cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  bool whole = true;
  try {
    launch_steps(stream.get());
  } catch (const Error&) {
    whole = false;  // an error of a step's own comes again when it is launched to run
  }
  cudaGraph_t graph = end_capture(stream.get());
  if (graph == nullptr) return false;
  if (whole && cudaGraphInstantiate(&executable_, graph, 0) != cudaSuccess) {
    (void)cudaGetLastError();
    executable_ = nullptr;
  }
  (void)cudaGraphDestroy(graph);
  return is_captured();
}

void CapturedPlan::start(cudaStream_t stream) const {
  check(cudaGraphLaunch(executable_, stream), plan_->entry);
}

}  // namespace zoetrope::cuda
