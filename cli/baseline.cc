// SPDX-License-Identifier: Apache-2.0
#include "cli/baseline.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/fail.h"
#include "cli/report.h"

namespace zoetrope::cli {
namespace {

using Json = nlohmann::ordered_json;

// Fields of the context that make a job another job, and those that only explain a difference.
constexpr const char* kJobFields[] = {"command", "frames",   "width",  "height",
                                      "dtype",   "base_dim", "threads"};
constexpr const char* kConditions[] = {"processor",         "host_name",       "device",
                                       "zoetrope_version",  "frames_per_step", "disabled_passes",
                                       "library_build_type"};

[[noreturn]] void refuse(const std::string& path, const std::string& found) {
  fail(ErrorCode::kIo,
       "--baseline {}: expected the JSON that zoetrope bench --json writes, found {}", path, found);
}

std::string read_all(const std::string& path) {
  constexpr size_t kLargest = size_t{64} << 20;  // a thousand repetitions take one of these MiB
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::vector<char> block(1 << 16);
  while (file && text.size() <= kLargest) {
    file.read(block.data(), std::ssize(block));
    text.append(block.data(), static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() && text.empty()) fail(ErrorCode::kIo, "--baseline {}: cannot be read", path);
  if (text.size() > kLargest) refuse(path, "more than 64 MiB");
  return text;
}

std::string text_of(const Json& value) {
  if (value.is_structured()) return "no plain value";
  constexpr size_t kLongest = 80;
  const std::string text =
      one_line(value.is_string() ? value.get<std::string>()
                                 : value.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (text.size() <= kLongest) return text;
  constexpr unsigned kContinues = 0x80;  // a later byte of a UTF-8 character: 10xxxxxx
  size_t size = kLongest;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == kContinues) --size;
  return text.substr(0, size) + "...";
}

// "its frames is 9, here it is 5"
std::string describe_difference(const char* field, const Json& before, const Json& now) {
  const bool quoted = before.is_string() && !now.is_string();  // else "5" would look like 5
  const std::string text = text_of(before);
  return fmt::format("its {} is {}, here it is {}", field,
                     quoted ? fmt::format("the text \"{}\"", text) : text, text_of(now));
}

BenchRow row_of(const std::string& path, const Json& item) {
  const auto aggregate = item.find("aggregate_name");
  BenchRow row;
  if (aggregate != item.end() && aggregate->is_string()) row.aggregate = *aggregate;
  const auto index = item.find("repetition_index");
  if (index != item.end() && index->is_number_integer()) row.repetition = *index;
  for (size_t i = 0; i < kBenchValues; ++i) {
    const char* field = kBenchColumns[i].field;
    const auto value = item.find(field);
    if (value == item.end() || !value->is_number()) {
      refuse(path, fmt::format("a row without a number {}", field));
    }
    row.values[i] = *value;
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

Baseline::Baseline(const std::string& path) : path_(path) {
  const std::string text = read_all(path);
  // What is nested deeper than any result is dropped: copying and comparing recurse.
  constexpr int kDeepest = 8;
  const auto keep = [](int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
    return depth <= kDeepest;
  };
  const Json root = Json::parse(text, keep, false);
  if (root.is_discarded()) refuse(path, "no JSON");
  if (!root.is_object()) refuse(path, "JSON without an object");
  const auto context = root.find("context");
  const auto list = root.find("benchmarks");
  if (context == root.end() || !context->is_object()) refuse(path, "no \"context\"");
  if (!context->contains("zoetrope_version")) refuse(path, "results of another program");
  if (list == root.end() || !list->is_array() || list->empty()) refuse(path, "no \"benchmarks\"");
  context_ = *context;
  for (const Json& item : *list) {
    if (!item.is_object()) refuse(path, "a row that is no object");
    rows_.push_back(row_of(path, item));
  }
}

std::vector<std::string> Baseline::check(const Json& context) const {
  const auto before = [&](const char* field) {
    const auto found = context_.find(field);
    return found == context_.end() ? Json() : *found;
  };
  for (const char* field : kJobFields) {
    if (before(field) == context.at(field)) continue;
    fail(ErrorCode::kInvalidArgument,
         "--baseline {}: is of another job: {}; measure that job, or leave --baseline out", path_,
         describe_difference(field, before(field), context.at(field)));
  }
  std::vector<std::string> differences;
  for (const char* field : kConditions) {
    if (before(field) == context.at(field)) continue;
    differences.push_back(
        fmt::format("{}: {}", path_, describe_difference(field, before(field), context.at(field))));
  }
  return differences;
}

const BenchRow* Baseline::row_like(const BenchRow& row) const {
  for (const BenchRow& before : rows_) {
    if (before.aggregate == row.aggregate && before.repetition == row.repetition) return &before;
  }
  return nullptr;
}

std::string Baseline::ratios(const std::vector<BenchRow>& rows) const {
  const auto date = context_.find("date");
  std::string table = fmt::format("new / old, ▲ better, ▼ worse than {}{}\n{:<8}", one_line(path_),
                                  date == context_.end() ? "" : " of " + text_of(*date), "");
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
