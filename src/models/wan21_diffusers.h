// SPDX-License-Identifier: Apache-2.0
// The model as diffusers' AutoencoderKLWan describes it.
#pragma once

#include <string>

#include "models/model.h"
#include "models/wan21_layers.h"

namespace zoetrope::models {

// The text of config.json. Throws kUnsupported, naming `source`, for what that class cannot have:
// half a model, or blocks in another order.
std::string wan21_diffusers_config(const Half& encoder, const Half& decoder, const Config& config,
                                   const std::string& source);

}  // namespace zoetrope::models
