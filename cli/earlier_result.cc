// SPDX-License-Identifier: Apache-2.0
#include "cli/earlier_result.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

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

std::string read_all(const EarlierResult& result) {
  constexpr size_t kLargest = size_t{64} << 20;  // a thousand repetitions take one of these MiB
  if (std::error_code ignored; std::filesystem::is_fifo(result.path(), ignored)) {
    result.refuse("a pipe");
  }
  std::ifstream file(result.path(), std::ios::binary);
  std::string text;
  std::vector<char> block(1 << 16);
  while (file && text.size() <= kLargest) {
    file.read(block.data(), std::ssize(block));
    text.append(block.data(), static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() && text.empty()) {
    fail(ErrorCode::kIo, "--baseline {}: cannot be read", result.path());
  }
  if (text.size() > kLargest) result.refuse("more than 64 MiB");
  return text;
}

std::string text_of(const Json& value) {
  if (value.is_structured()) return "no plain value";
  constexpr size_t kLongest = 80;
  const std::string text =
      one_line(value.is_string() ? value.get<std::string>() : json_line(value));
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

}  // namespace

EarlierResult::EarlierResult(const std::string& path, const char* command, const char* content)
    : path_(path), command_(command) {
  const std::string text = read_all(*this);
  // What is nested deeper than any result is dropped: copying and comparing recurse.
  constexpr int kDeepest = 8;
  const auto keep = [](int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
    return depth <= kDeepest;
  };
  const Json root = Json::parse(text, keep, false);
  if (root.is_discarded()) refuse("no JSON");
  if (!root.is_object()) refuse("JSON without an object");
  const auto context = root.find("context");
  const auto found = root.find(content);
  if (context == root.end() || !context->is_object()) refuse("no \"context\"");
  if (!context->contains("zoetrope_version")) refuse("results of another program");
  if (found == root.end() || !found->is_structured() || found->empty()) {
    refuse(fmt::format("no \"{}\"", content));
  }
  context_ = *context;
  content_ = *found;
}

void EarlierResult::refuse(const std::string& found) const {
  fail(ErrorCode::kIo, "--baseline {}: expected the JSON that zoetrope {} --json writes, found {}",
       path_, command_, found);
}

std::string EarlierResult::date() const {
  const auto date = context_.find("date");
  return date == context_.end() ? "" : text_of(*date);
}

std::vector<std::string> EarlierResult::check(const Json& context) const {
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

}  // namespace zoetrope::cli
