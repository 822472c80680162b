// SPDX-License-Identifier: Apache-2.0
// Turns a Plan's step into a kernel's arguments, and calls it.
#pragma once

#include "backend/backend.h"
#include "base/thread_pool.h"
#include "cpu/cpu_target.h"

namespace zoetrope::cpu {

struct StepContext {
  const Plan& plan;
  const Launch& launch;
  const CpuTarget& target;
  ThreadPool& pool;
  const LoopControl& control;
};

// Throws kInternal if the step names a kernel that the target does not have.
void run_step(const Step& step, const StepContext& context);

}  // namespace zoetrope::cpu
