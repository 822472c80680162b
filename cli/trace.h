// SPDX-License-Identifier: Apache-2.0
// A run in the Chrome trace event format, for https://ui.perfetto.dev and chrome://tracing.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <nlohmann/json.hpp>

#include "cli/measured_job.h"
#include "cli/step_profile.h"
#include "cli/timeline.h"

namespace zoetrope::cli {

// Tracks: entries, steps and copies of the device's one stream, and a counter of memory.
nlohmann::ordered_json trace_of(const Timeline& timeline, const MeasuredJob& job,
                                const Roofline& roofline, const nlohmann::ordered_json& context);

}  // namespace zoetrope::cli
