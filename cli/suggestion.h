// SPDX-License-Identifier: Apache-2.0
// What a misspelt word was meant to be.
#pragma once

#include <string>
#include <vector>

namespace zoetrope::cli {

// "; did you mean X?", or nothing if none of `names` is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names);

// Up to `count` of `names` that are most like `word`, nearest first.
std::vector<std::string> nearest(const std::string& word, std::vector<std::string> names,
                                 size_t count);

}  // namespace zoetrope::cli
