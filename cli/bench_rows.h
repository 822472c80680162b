// SPDX-License-Identifier: Apache-2.0
// What bench measures, as rows and columns: a row for each repetition, then their statistics.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace zoetrope::cli {

enum class Better : uint8_t { kLess, kMore };

// A column is printed as value * scale with its unit; JSON has the plain value.
struct BenchColumn {
  const char* heading;
  const char* field;  // of the JSON
  double scale;
  const char* unit;
  int decimals;
  int width;
  Better better;
};

enum BenchValue : size_t {
  kTime,
  kCpuTime,
  kFramesPerSecond,
  kFirstOutput,
  kPeakMemory,
  kLibraryMemory,
  kFlops,
  kShareOfPeak,
  kBenchValues
};

inline constexpr double kMebi = 1 << 20;

// The first two are milliseconds, as in Google Benchmark's fields of these names.
inline constexpr std::array<BenchColumn, kBenchValues> kBenchColumns = {{
    {"Time", "real_time", 1, " ms", 1, 12, Better::kLess},
    {"CPU", "cpu_time", 1, " ms", 1, 12, Better::kLess},
    {"frames/s", "frames_per_second", 1, "", 2, 10, Better::kMore},
    {"first output", "first_output_ms", 1, " ms", 1, 14, Better::kLess},
    {"peak memory", "peak_resident_bytes", 1 / kMebi, " MiB", 1, 13, Better::kLess},
    {"library", "library_bytes", 1 / kMebi, " MiB", 1, 13, Better::kLess},
    {"TFLOP/s", "flops_per_second", 1e-12, "", 4, 9, Better::kMore},
    {"of peak", "share_of_peak", 100, " %", 1, 9, Better::kMore},
}};

using BenchValues = std::array<double, kBenchValues>;

struct BenchRow {
  std::string label;      // "run 1", "mean", ...
  std::string aggregate;  // "mean", "median", "stddev", "cv"; empty: a repetition
  int64_t repetition = 0;
  BenchValues values = {};
};

// Of "stddev" and "cv".
bool is_spread(const BenchRow& row);

// `values` must not be empty.
double median(std::vector<double> values);

// The repetitions, then, if there are two or more, mean, median, standard deviation (of a sample)
// and coefficient of variation.
std::vector<BenchRow> bench_rows(const std::vector<BenchValues>& repetitions);

// A table's heading and lines, at most 100 columns wide.
std::string bench_table(const std::vector<BenchRow>& rows);

// Google Benchmark's "benchmarks" array.
nlohmann::ordered_json bench_json(const std::vector<BenchRow>& rows, const std::string& name,
                                  int64_t threads);

}  // namespace zoetrope::cli
