// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDeviation = "stddev";
constexpr const char* kVariation = "cv";

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double variation(const std::vector<double>& values) {
  const double centre = mean(values);
  return centre == 0 ? 0 : deviation(values) / centre;
}

BenchRow aggregate(const std::vector<BenchValues>& repetitions, const char* name,
                   const std::function<double(const std::vector<double>&)>& statistic) {
  BenchRow row = {.label = name, .aggregate = name};
  for (size_t column = 0; column < kBenchValues; ++column) {
    std::vector<double> values;
    for (const BenchValues& repetition : repetitions) values.push_back(repetition[column]);
    row.values[column] = statistic(values);
  }
  return row;
}

std::string cell(const BenchColumn& column, const BenchRow& row, double value) {
  const bool share = row.aggregate == kVariation;
  const std::string text =
      share ? fmt::format("{:.2f} %", value * 100)
            : fmt::format("{:.{}f}{}", value * column.scale, column.decimals, column.unit);
  return fmt::format("{:>{}}", text, column.width);
}

}  // namespace

bool is_spread(const BenchRow& row) {
  return row.aggregate == kDeviation || row.aggregate == kVariation;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<BenchRow> bench_rows(const std::vector<BenchValues>& repetitions) {
  std::vector<BenchRow> rows;
  for (size_t i = 0; i < repetitions.size(); ++i) {
    rows.push_back({.label = fmt::format("run {}", i + 1),
                    .aggregate = "",
                    .repetition = static_cast<int64_t>(i),
                    .values = repetitions[i]});
  }
  if (repetitions.size() < 2) return rows;
  rows.push_back(aggregate(repetitions, "mean", mean));
  rows.push_back(aggregate(repetitions, "median", median));
  rows.push_back(aggregate(repetitions, kDeviation, deviation));
  rows.push_back(aggregate(repetitions, kVariation, variation));
  return rows;
}

std::string bench_table(const std::vector<BenchRow>& rows) {
  std::string table = fmt::format("{:<8}", "");
  for (const BenchColumn& column : kBenchColumns) {
    table += fmt::format("{:>{}}", column.heading, column.width);
  }
  for (const BenchRow& row : rows) {
    table += fmt::format("\n{:<8}", row.label);
    for (size_t i = 0; i < kBenchValues; ++i) {
      table += cell(kBenchColumns[i], row, row.values[i]);
    }
  }
  return table + "\n";
}

Json bench_json(const std::vector<BenchRow>& rows, const std::string& name, int64_t threads) {
  const auto repetitions = std::ranges::count(rows, "", &BenchRow::aggregate);
  Json list = Json::array();
  for (const BenchRow& row : rows) {
    const bool iteration = row.aggregate.empty();
    Json item = {{"name", iteration ? name : name + "_" + row.aggregate},
                 {"family_index", 0},
                 {"per_family_instance_index", 0},
                 {"run_name", name},
                 {"run_type", iteration ? "iteration" : "aggregate"},
                 {"repetitions", repetitions}};
    if (iteration) item["repetition_index"] = row.repetition;
    item["threads"] = threads;
    if (!iteration) {
      item["aggregate_name"] = row.aggregate;
      item["aggregate_unit"] = row.aggregate == kVariation ? "percentage" : "time";
    }
    item["iterations"] = iteration ? 1 : repetitions;
    for (size_t i = 0; i < kBenchValues; ++i) {
      item[kBenchColumns[i].field] = row.values[i];
      if (i == kCpuTime) item["time_unit"] = "ms";
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace zoetrope::cli
