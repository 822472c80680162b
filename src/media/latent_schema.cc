// SPDX-License-Identifier: Apache-2.0
#include "media/latent_schema.h"

#include <optional>

#include "base/fail.h"
#include "base/parse_number.h"
#include "base/utf8.h"

namespace zoetrope::media {
namespace {

constexpr const char* kVersion = "1";
constexpr int64_t kLargestCount = int64_t{1} << 40;

class MetadataReader {
 public:
  MetadataReader(const std::string& path, const std::map<std::string, std::string>& metadata)
      : path_(path), metadata_(metadata) {}

  std::string text(const std::string& key) const {
    const auto found = metadata_.find(key);
    return found == metadata_.end() ? std::string() : found->second;
  }

  std::optional<int64_t> count(const std::string& key) const {
    const std::string value = text(key);
    if (value.empty()) return std::nullopt;
    const std::optional<int64_t> parsed = parse_number<int64_t>(value);
    if (!parsed || *parsed < 1 || *parsed > kLargestCount) refuse(key, "a positive number");
    return parsed;
  }

  std::optional<FrameRate> rate(const std::string& key) const {
    const std::string value = text(key);
    if (value.empty()) return std::nullopt;
    try {
      return parse_frame_rate(value);
    } catch (const Error&) {
      refuse(key, "a frame rate");
    }
  }

  LatentScale scale(const std::string& key) const {
    const std::string value = text(key);
    if (value == name_of(LatentScale::kRaw)) return LatentScale::kRaw;
    if (value != name_of(LatentScale::kNormalized)) refuse(key, "normalized or raw");
    return LatentScale::kNormalized;
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const char* expected) const {
    fail(ErrorCode::kIo, "{}: metadata {}: expected {}, found \"{}\"", path_, key, expected,
         printable(text(key)));
  }

  const std::string& path_;
  const std::map<std::string, std::string>& metadata_;
};

}  // namespace

const char* name_of(LatentScale scale) { return scale == LatentScale::kRaw ? "raw" : "normalized"; }

std::map<std::string, std::string> latent_metadata(const LatentRecord& record) {
  const LatentSource& source = record.source;
  std::map<std::string, std::string> metadata = {
      {"schema", kLatentSchema}, {"schema_version", kVersion}, {"scale", name_of(record.scale)}};
  const auto add = [&metadata](const char* key, const std::string& value) {
    if (!value.empty()) metadata[key] = value;
  };
  const auto add_count = [&add](const char* key, const std::optional<int64_t>& value) {
    if (value) add(key, fmt::format("{}", *value));
  };
  add_count("source_height", source.height);
  add_count("source_width", source.width);
  add_count("source_frames", source.frames);
  if (source.rate) add("source_rate", to_string(*source.rate));
  add("source_color", source.color);
  add("weights_checksum", source.weights_checksum);
  add("zoetrope_version", source.version);
  return metadata;
}

LatentRecord parse_latent_metadata(const std::string& path,
                                   const std::map<std::string, std::string>& metadata) {
  const MetadataReader reader(path, metadata);
  if (reader.text("schema_version") != kVersion) {
    fail(ErrorCode::kUnsupported,
         "{}: expected version {} of {}, found \"{}\": a later zoetrope reads it", path, kVersion,
         kLatentSchema, printable(reader.text("schema_version")));
  }
  LatentRecord record;
  record.scale = reader.scale("scale");
  record.source.height = reader.count("source_height");
  record.source.width = reader.count("source_width");
  record.source.frames = reader.count("source_frames");
  record.source.rate = reader.rate("source_rate");
  record.source.color = reader.text("source_color");
  record.source.weights_checksum = reader.text("weights_checksum");
  record.source.version = reader.text("zoetrope_version");
  return record;
}

}  // namespace zoetrope::media
