// SPDX-License-Identifier: Apache-2.0
// What an observer is told.
#pragma once

#include "backend/backend.h"
#include "zoetrope/tools.h"

namespace zoetrope {

// `step` is one of the Plan's. Views refer to `plan`, and results to `launch` and `backend`.
StepEvent step_event(const Backend& backend, const Plan& plan, const Step& step,
                     const Launch& launch, double seconds);

enum class CopyKind : uint8_t { kIn, kOut };

// Of the Plan's input or output.
StepEvent copy_event(const Backend& backend, const Plan& plan, CopyKind kind, const Launch& launch,
                     double seconds);

}  // namespace zoetrope
