// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "media/file_kind.h"
#include "media/latent_file.h"
#include "media/video.h"

namespace zoetrope::cli {
namespace {

struct Summary {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double squares = 0;
  double count = 0;
  int64_t not_finite = 0;

  void add(double value) {
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    squares += value * value;
    ++count;
  }

  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

std::vector<Summary> summarise(media::LatentReader& reader) {
  const media::LatentInfo& info = reader.info();
  const int64_t plane = info.height * info.width;
  std::vector<Summary> channels(static_cast<size_t>(info.channels));
  std::vector<float> values(static_cast<size_t>(info.channels * plane));
  while (reader.read(1, values.data()) > 0) {
    check_interrupted();
    for (int64_t i = 0; i < info.channels * plane; ++i) {
      channels[static_cast<size_t>(i / plane)].add(values[static_cast<size_t>(i)]);
    }
  }
  return channels;
}

std::string source_text(const media::LatentSource& source) {
  std::string text;
  if (source.width && source.height) text = fmt::format("{}x{}", *source.width, *source.height);
  if (source.frames) {
    text += fmt::format("{}{} frames", text.empty() ? "" : ", ", *source.frames);
  }
  if (source.rate) text += fmt::format(", {} frames/s", media::to_string(*source.rate));
  return text;
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const std::string& file, const media::LatentInfo& info,
             const std::vector<Summary>& channels) {
  const media::LatentSource& source = info.source;
  Json object = {{"file", file},
                 {"kind", "latents"},
                 {"shape", {info.channels, info.frames, info.height, info.width}},
                 {"scale", media::name_of(info.scale)},
                 {"scale_recorded", info.scale_recorded},
                 {"source",
                  {{"height", or_null(source.height)},
                   {"width", or_null(source.width)},
                   {"frames", or_null(source.frames)},
                   {"fps", source.rate ? Json(media::to_string(*source.rate)) : Json()},
                   {"color", source.color},
                   {"weights_checksum", source.weights_checksum},
                   {"version", source.version}}},
                 {"channels", Json::array()}};
  for (const Summary& channel : channels) {
    object["channels"].push_back({{"min", channel.least},
                                  {"max", channel.most},
                                  {"mean", channel.mean()},
                                  {"std", channel.deviation()},
                                  {"not_finite", channel.not_finite}});
  }
  return object;
}

void print_latents(const std::string& file, const Options& options) {
  const auto reader = media::open_latent_reader(file, {.any_value = true});
  const media::LatentInfo& info = reader->info();
  const std::vector<Summary> channels = summarise(*reader);
  if (options.json) return print_json(to_json(file, info, channels));
  print(fmt::format("{}: latents\n", one_line(file)));
  print_row("shape", fmt::format("[{},{},{},{}] (channels, latent frames, height, width)",
                                 info.channels, info.frames, info.height, info.width));
  print_row("scale", fmt::format("{}{}", media::name_of(info.scale),
                                 info.scale_recorded ? "" : " (assumed, not recorded)"));
  print_row("video", source_text(info.source));
  print_row("colours", info.source.color);
  print_row("weights", info.source.weights_checksum);
  print_row("written by", info.source.version.empty() ? "" : "zoetrope " + info.source.version);
  print("  channel        min        max       mean        std\n");
  for (size_t i = 0; i < channels.size(); ++i) {
    const Summary& channel = channels[i];
    print(fmt::format("  {:>7} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f}", i, channel.least,
                      channel.most, channel.mean(), channel.deviation()));
    print(channel.not_finite == 0 ? "\n" : fmt::format("  {} not finite\n", channel.not_finite));
  }
}

void print_video(const std::string& file, const Options& options) {
  media::ReadOptions reading;
  reading.array_any_value = true;
  reading.alpha = media::AlphaPolicy::kDrop;
  const auto reader = media::open_video_reader(file, reading);
  const media::VideoInfo& info = reader->info();
  const std::string rate = info.rate_known ? media::to_string(info.rate) : "";
  if (options.json) {
    return print_json(Json{{"file", file},
                           {"kind", "video"},
                           {"height", info.height},
                           {"width", info.width},
                           {"frames", or_null(info.frames)},
                           {"frames_exact", info.frames_exact},
                           {"fps", rate.empty() ? Json() : Json(rate)},
                           {"color", info.color}});
  }
  print(fmt::format("{}: video or image\n", one_line(file)));
  print_row("size", fmt::format("{}x{}", info.width, info.height));
  if (info.frames) {
    print_row("frames", fmt::format("{}{}", info.frames_exact ? "" : "about ", *info.frames));
  }
  print_row("rate", rate.empty() ? "" : rate + " frames/s");
  print_row("colours", info.color);
}

// What media makes of a file; empty if nothing.
std::optional<media::FileKind> media_kind(const std::string& file) {
  try {
    return media::classify_input(file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Throws kIo for a file or folder that is there and may not be read, and for a pipe, which could
// only be read once.
void check_readable(const std::string& file) {
  if (std::error_code ignored; std::filesystem::is_fifo(file, ignored)) {
    fail(ErrorCode::kIo, "{}: expected a file or folder, found a pipe", file);
  }
  if (access(file.c_str(), R_OK) == 0 || errno == ENOENT) return;
  fail(ErrorCode::kIo, "{}: cannot be read: {}", file, std::strerror(errno));
}

// An array is taken for latents if it can be, else for a video.
void print_array(const std::string& file, const Options& options) {
  bool latents = true;
  try {
    latents = media::open_latent_reader(file, {.any_value = true})->info().channels > 3;
  } catch (const Error&) {
    latents = false;
  }
  return latents ? print_latents(file, options) : print_video(file, options);
}

void inspect(const std::string& file, const Options& options) {
  const CompiledOptions& compiled = options.compiled;
  if (!compiled.graph.empty()) return inspect_graph(file, options);
  if (!compiled.plan.entry.empty()) return inspect_plan(file, options);
  if (media::is_latent_file(file)) return print_latents(file, options);
  try {
    return inspect_checkpoint(file, options);
  } catch (const Error&) {
    check_readable(file);
    const std::optional<media::FileKind> kind = media_kind(file);
    if (!kind || *kind == media::FileKind::kSafetensors) throw;
    if (*kind == media::FileKind::kNpy) return print_array(file, options);
    if (*kind == media::FileKind::kY4mPipe) throw;
  }
  print_video(file, options);
}

}  // namespace

int run_inspect(const Options& options) {
  if (options.inputs.empty()) {
    fail(ErrorCode::kInvalidArgument, "no file: name a checkpoint or a latent file to inspect");
  }
  for (const std::string& file : options.inputs) inspect(file, options);
  return 0;
}

}  // namespace zoetrope::cli
