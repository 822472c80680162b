// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestion.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace zoetrope::cli {
namespace {

// The number of letters to insert, delete or replace to make `a` of `b` (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const auto closer = [&](const std::string& a, const std::string& b) {
    return distance(word, a) < distance(word, b);
  };
  const std::string& nearest = *std::min_element(names.begin(), names.end(), closer);
  const bool near = distance(word, nearest) <= std::max<size_t>(1, nearest.size() / 3);
  return near ? "; did you mean " + nearest + "?" : "";
}

std::vector<std::string> nearest(const std::string& word, std::vector<std::string> names,
                                 size_t count) {
  std::ranges::sort(names, {},
                    [&](const std::string& name) { return std::pair(distance(word, name), name); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > count) names.resize(count);
  return names;
}

}  // namespace zoetrope::cli
