// SPDX-License-Identifier: Apache-2.0
// What bench or profile wrote with --json earlier, to compare with: --baseline.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace zoetrope::cli {

class EarlierResult {
 public:
  // `command` wrote it, and `content` is the field beside "context". Throws kIo if the file cannot
  // be read or is none of these.
  EarlierResult(const std::string& path, const char* command, const char* content);

  const std::string& path() const { return path_; }
  const nlohmann::ordered_json& content() const { return content_; }

  // "2026-03-01T12:00:00+00:00", on one line, or empty.
  std::string date() const;

  // Throws kInvalidArgument, naming what differs, unless the job is the same. Returns in words what
  // else differs: machine, version, passes.
  std::vector<std::string> check(const nlohmann::ordered_json& context) const;

  // Throws kIo: the file is none, since `found` is in it.
  [[noreturn]] void refuse(const std::string& found) const;

 private:
  std::string path_;
  std::string command_;
  nlohmann::ordered_json context_;
  nlohmann::ordered_json content_;
};

}  // namespace zoetrope::cli
