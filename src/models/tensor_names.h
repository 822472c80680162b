// SPDX-License-Identifier: Apache-2.0
// Tensor names of the same model as different projects write them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace zoetrope::models {

// Published name -> name in the checkpoint, prefixes such as "vae." stripped, diffusers' layer
// names translated.
struct TensorNames {
  std::string naming;  // "published" or "diffusers"; empty: neither was found
  std::map<std::string, std::string> stored;
};

TensorNames translate_names(const Checkpoint& checkpoint);

// Published name -> diffusers' name, for all the names of a model, of which none is left out:
// blocks are numbered by what stands before them. Names of no layer stay as they are.
std::map<std::string, std::string> diffusers_names(const std::vector<std::string>& published);

}  // namespace zoetrope::models
