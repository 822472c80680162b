// SPDX-License-Identifier: Apache-2.0
// Turns a Plan's step into a kernel's arguments, and launches it.
#pragma once

#include <cuda_runtime_api.h>

#include "backend/queue.h"

namespace zoetrope::cuda {

struct StepContext {
  const Plan& plan;
  const Launch& launch;
  cudaStream_t stream;
};

// Throws kInternal if the step names a kernel that does not exist, kDevice if it does not start.
void launch_step(const Step& step, const StepContext& context);

}  // namespace zoetrope::cuda
