// SPDX-License-Identifier: Apache-2.0
// The launches of a Plan as one, for a Stream that runs it again and again in the same memory.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "backend/queue.h"

namespace zoetrope::cuda {

class CapturedPlan {
 public:
  CapturedPlan(const Plan& plan, const Launch& launch) : plan_(&plan), launch_(launch) {}
  ~CapturedPlan();
  CapturedPlan(CapturedPlan&& other) noexcept;
  CapturedPlan& operator=(CapturedPlan&&) = delete;

  // Whether a launch is this one again.
  bool is_of(const Plan& plan, const Launch& launch) const {
    return plan_ == &plan && launch_ == launch;
  }
  bool is_captured() const { return executable_ != nullptr; }

  // Keeps what `launch_steps` launches into the stream it is given, where nothing of it runs. False
  // if that failed, as when another thread of the process waits for the whole device meanwhile.
  bool capture(const std::function<void(cudaStream_t)>& launch_steps);
  void start(cudaStream_t stream) const;

 private:
  const Plan* plan_;
  Launch launch_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace zoetrope::cuda
