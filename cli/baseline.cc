// SPDX-License-Identifier: Apache-2.0
#include "cli/baseline.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/report.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

BenchRow row_of(const EarlierResult& result, const Json& item) {
  const auto aggregate = item.find("aggregate_name");
  BenchRow row;
  if (aggregate != item.end() && aggregate->is_string()) row.aggregate = *aggregate;
  const auto index = item.find("repetition_index");
  if (index != item.end() && index->is_number_integer()) row.repetition = *index;
  for (size_t i = 0; i < kBenchValues; ++i) {
    const char* field = kBenchColumns[i].field;
    const auto value = item.find(field);
    if (value == item.end() || !value->is_number()) {
      result.refuse(fmt::format("a row without a number {}", field));
    }
    row.values[i] = *value;
    if (!std::isfinite(row.values[i]) || row.values[i] < 0) {
      result.refuse(fmt::format("a row whose {} is {}", field, row.values[i]));
    }
  }
  return row;
}

// "0.931 ▲", as wide as the column. Of a spread, less is better in every column.
std::string ratio_cell(const BenchColumn& column, Better wanted, double now, double before) {
  constexpr double kEqual = 0.005;  // shown as a difference from here on
  const double ratio = now / before;
  if (!std::isfinite(ratio)) return fmt::format("{:>{}}  ", "-", column.width - 2);
  const bool better = (ratio < 1) == (wanted == Better::kLess);
  const char* arrow = std::abs(ratio - 1) < kEqual ? "=" : better ? "▲" : "▼";
  return fmt::format("{:>{}.3f} {}", ratio, column.width - 2, arrow);
}

}  // namespace

Baseline::Baseline(const std::string& path) : result_(path, "bench", "benchmarks") {
  for (const Json& item : result_.content()) {
    if (!item.is_object()) result_.refuse("a row that is no object");
    rows_.push_back(row_of(result_, item));
  }
}

const BenchRow* Baseline::row_like(const BenchRow& row) const {
  for (const BenchRow& before : rows_) {
    if (before.aggregate == row.aggregate && before.repetition == row.repetition) return &before;
  }
  return nullptr;
}

std::string Baseline::ratios(const std::vector<BenchRow>& rows) const {
  const std::string date = result_.date();
  std::string table = fmt::format("new / old, ▲ better, ▼ worse than {}{}\n{:<8}",
                                  one_line(result_.path()), date.empty() ? "" : " of " + date, "");
  for (const BenchColumn& column : kBenchColumns) {
    table += fmt::format("{:>{}}", column.heading, column.width);
  }
  for (const BenchRow& row : rows) {
    const BenchRow* before = row_like(row);
    if (before == nullptr) continue;
    table += fmt::format("\n{:<8}", row.label);
    for (size_t i = 0; i < kBenchValues; ++i) {
      const Better wanted = is_spread(row) ? Better::kLess : kBenchColumns[i].better;
      table += ratio_cell(kBenchColumns[i], wanted, row.values[i], before->values[i]);
    }
  }
  return table + "\n";
}

}  // namespace zoetrope::cli
