// SPDX-License-Identifier: Apache-2.0
// What an observer is told of a step.
#pragma once

#include "backend/backend.h"
#include "zoetrope/tools.h"

namespace zoetrope {

// Its views refer to `plan` and `step`.
StepEvent step_event(const Plan& plan, const Step& step, const Launch& launch, double seconds);

}  // namespace zoetrope
