// SPDX-License-Identifier: Apache-2.0
// Tables with one row for each instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace zoetrope::cpu {

// "conv3d_f32_" and "N_AVX3" (Highway's namespace of an instruction set) -> "conv3d_f32_avx3".
constexpr std::array<char, 40> row_name(std::string_view family, std::string_view hwy_namespace) {
  std::array<char, 40> name = {};
  size_t length = 0;
  for (const char c : family) name[length++] = c;
  for (const char c : hwy_namespace.substr(2)) {
    name[length++] = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// The rows whose instruction set is among `supported`, best (lowest bit) first, those of one
// instruction set in the order of `candidates`, which may hold nulls and repetitions.
template <typename Row, size_t count>
std::vector<Row> supported_rows(const std::array<const Row*, count>& candidates,
                                int64_t supported) {
  std::vector<const Row*> chosen;
  for (const Row* row : candidates) {
    if (row == nullptr || (row->target & supported) == 0) continue;
    if (std::ranges::find(chosen, row) == chosen.end()) chosen.push_back(row);
  }
  std::ranges::stable_sort(chosen, {}, &Row::target);
  std::vector<Row> rows;
  for (const Row* row : chosen) rows.push_back(*row);
  return rows;
}

}  // namespace zoetrope::cpu
