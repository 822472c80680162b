// SPDX-License-Identifier: Apache-2.0
// What a misspelt word was meant to be.
#pragma once

#include <string>
#include <vector>

namespace zoetrope::cli {

// "; did you mean X?", or nothing if none of `names` is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names);

}  // namespace zoetrope::cli
