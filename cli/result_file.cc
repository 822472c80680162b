// SPDX-License-Identifier: Apache-2.0
#include "cli/result_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fail.h"
#include "base/machine.h"
#include "zoetrope/version.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// "2026-03-01T12:00:00+00:00", local time.
std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm local = {};
  localtime_r(&time, &local);
  std::array<char, 40> date = {};
  std::array<char, 8> zone = {};  // "+0000"
  std::strftime(date.data(), date.size(), "%FT%T", &local);
  std::strftime(zone.data(), zone.size(), "%z", &local);
  return fmt::format("{}{:.3}:{}", date.data(), zone.data(), zone.data() + 3);
}

Json caches() {
  Json list = Json::array();
  for (const ProcessorCache& cache : processor_caches()) {
    list.push_back({{"type", cache.type},
                    {"level", cache.level},
                    {"size", cache.bytes},
                    {"num_sharing", cache.shared_by}});
  }
  return list;
}

constexpr const char* build_type() {
#ifdef NDEBUG
  return "release";
#else
  return "debug";
#endif
}

}  // namespace

PromisedFile::PromisedFile(std::string option, const std::string& path, bool overwrite)
    : option_(std::move(option)) {
  if (path.empty()) return;
  if (path == "-") {
    fail(ErrorCode::kInvalidArgument, "{} -: expected a file; --json alone has standard output",
         option_);
  }
  std::error_code error;
  if (fs::is_directory(path, error) || path.ends_with('/')) {
    fail(ErrorCode::kIo, "{} {}: expected a file, found a folder; name a file in it", option_,
         path);
  }
  file_.emplace(path);  // first: what it refuses, -y does not help
  if (fs::exists(path, error) && !overwrite) {
    fail(ErrorCode::kIo, "{} {}: exists; -y replaces it", option_, path);
  }
}

void PromisedFile::write(const std::string& text) {
  if (!file_) return;
  std::ofstream file(file_->temporary_path(), std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(ErrorCode::kIo, "{} {}: cannot be written", option_, file_->path());
  file_->commit();
}

ResultFile::ResultFile(const Options& options)
    : to_stdout_(options.measure.json == "-"),
      file_("--json", to_stdout_ ? "" : options.measure.json, options.overwrite) {}

void ResultFile::write(const Json& results) {
  const std::string text = results.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (to_stdout_) std::fputs(text.c_str(), stdout);
  file_.write(text);
}

Json result_context(const Options& options, const MeasuredJob& job) {
  const MeasureOptions& measure = options.measure;
  return {{"date", now()},
          {"host_name", host_name()},
          {"executable", "zoetrope"},
          {"num_cpus", std::thread::hardware_concurrency()},
          {"mhz_per_cpu", std::lround(processor_megahertz())},
          {"caches", caches()},
          {"load_avg", load_averages()},
          {"library_build_type", build_type()},
          {"zoetrope_version", version()},
          {"processor", processor_name()},
          {"device", job.info().device},
          {"command", job.decode() ? "decode" : "encode"},
          {"frames", measure.frames},
          {"width", measure.size.width},
          {"height", measure.size.height},
          {"dtype", name_of(job.dtype())},
          {"base_dim", job.base_dim()},
          {"weights_checksum", job.info().weights_checksum},
          {"threads", job.threads()},
          {"frames_per_step", options.stream.frames_per_step},
          {"disabled_passes", fmt::format("{}", fmt::join(options.load.disabled_passes, ","))}};
}

std::string job_title(const std::string& name, const MeasuredJob& job) {
  const std::array<double, 3> load = load_averages();
  return fmt::format("{}, {}\nzoetrope {} on {}, load {:.1f} {:.1f} {:.1f}\n", name,
                     job.info().device, version(), processor_name(), load[0], load[1], load[2]);
}

}  // namespace zoetrope::cli
