// SPDX-License-Identifier: Apache-2.0
// Tensor names of the same model as different projects write them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace zoetrope::models {

// Published name -> name in the checkpoint, prefixes such as "vae." stripped, diffusers' layer
// names translated.
struct TensorNames {
  std::string naming;  // "published" or "diffusers"; empty: neither was found
  std::map<std::string, std::string> stored;
};

TensorNames translate_names(const Checkpoint& checkpoint);

}  // namespace zoetrope::models
