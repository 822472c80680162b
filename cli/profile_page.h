// SPDX-License-Identifier: Apache-2.0
// profile --html: one page that needs nothing beside itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/measured_job.h"
#include "cli/profile_changes.h"
#include "cli/step_profile.h"
#include "cli/timeline.h"

namespace zoetrope::cli {

struct ProfilePage {
  const MeasuredJob& job;
  const StepProfile& profile;
  const Timeline& timeline;  // of one run
  Roofline roofline;
  nlohmann::ordered_json context;          // result_context()
  const EarlierResult* earlier = nullptr;  // to compare with; null: nothing
};

// HTML with its styles and pictures, without scripts. Throws kIo if the earlier result is none.
std::string to_html(const ProfilePage& page);

}  // namespace zoetrope::cli
