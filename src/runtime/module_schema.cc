// SPDX-License-Identifier: Apache-2.0
#include "runtime/module_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/parse_number.h"
#include "base/utf8.h"

namespace zoetrope {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "zoetrope.module";
constexpr const char* kSchemaVersion = "1";
constexpr const char* kChecksum = "header_checksum";
constexpr size_t kLongestText = size_t{4} << 20;  // of one field
constexpr int kDeepestJson = 3;                   // tables of {"shape": [...]}
constexpr size_t kMaxAxes = 8;
constexpr int64_t kLargestExtent = 65536;

using Metadata = std::map<std::string, std::string>;
using Sizes = std::map<std::string, size_t>;  // bytes of tensors, by name

Json weights_json(const std::map<std::string, ModuleWeight>& weights) {
  Json json = Json::object();
  for (const auto& [name, weight] : weights) {
    json[name] = {{"hash", hash_text(weight.hash)}, {"shape", weight.shape}};
  }
  return json;
}

Json hashes_json(const std::map<std::string, uint64_t>& hashes) {
  Json json = Json::object();
  for (const auto& [name, hash] : hashes) json[name] = hash_text(hash);
  return json;
}

// The fields of one file; every message names it.
class FieldReader {
 public:
  FieldReader(const std::string& path, const Metadata& metadata)
      : path_(path), metadata_(metadata) {}

  [[noreturn]] void refuse(const std::string& key, const std::string& what) const {
    fail(ErrorCode::kCheckpoint,
         "{}: metadata {}: {}: the module is damaged, get it again or make it with zoetrope "
         "compile",
         path_, key, what);
  }

  // Empty if it is not there.
  std::string optional_text(const std::string& key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) return "";
    if (found->second.size() > kLongestText) refuse(key, "it is longer than any module's");
    return found->second;
  }

  std::string text(const std::string& key) const {
    std::string value = optional_text(key);
    if (value.empty()) refuse(key, "it is missing");
    return value;
  }

  int number(const std::string& key) const {
    const std::optional<int> value = parse_number<int>(text(key));
    if (!value || *value < 1) refuse(key, fmt::format("found {}", printable(text(key))));
    return *value;
  }

  std::optional<DType> dtype(const std::string& key) const {
    const std::string name = optional_text(key);
    if (name.empty()) return std::nullopt;
    const std::optional<DType> type = parse_dtype(name);
    if (!type || !is_floating(*type)) refuse(key, fmt::format("found {}", printable(name)));
    return type;
  }

  std::vector<std::string> list(const std::string& key) const {
    std::vector<std::string> items;
    const std::string value = optional_text(key);
    for (size_t begin = 0; begin < value.size();) {
      const size_t end = std::min(value.find(',', begin), value.size());
      items.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
    return items;
  }

  // A JSON object; nesting is bounded before anything is built.
  Json object(const std::string& key) const {
    const std::string value = text(key);
    const auto shallow = [&](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
      if (depth > kDeepestJson) refuse(key, "it is nested too deep");
      return true;
    };
    Json json = Json::parse(value, shallow, false);
    if (!json.is_object()) refuse(key, "expected a JSON object");
    return json;
  }

  uint64_t hash(const std::string& key, const Json& json) const {
    constexpr size_t kDigits = 16;
    if (!json.is_string()) refuse(key, "expected hashes of 16 digits");
    const auto& digits = json.get_ref<const std::string&>();
    uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
    if (digits.size() != kDigits || error != std::errc() || stop != end) {
      refuse(key, "expected hashes of 16 digits");
    }
    return value;
  }

  std::vector<int64_t> shape(const std::string& key, const Json& json) const {
    if (!json.is_array() || json.size() > kMaxAxes) refuse(key, "expected shapes");
    std::vector<int64_t> extents;
    for (const Json& extent : json) {
      const bool fits = extent.is_number_unsigned() && extent.get<uint64_t>() >= 1 &&
                        extent.get<uint64_t>() <= static_cast<uint64_t>(kLargestExtent);
      if (!fits) refuse(key, fmt::format("expected extents from 1 to {}", kLargestExtent));
      extents.push_back(extent.get<int64_t>());
    }
    return extents;
  }

  std::map<std::string, ModuleWeight> weights(const std::string& key) const {
    std::map<std::string, ModuleWeight> weights;
    const Json table = object(key);
    for (const auto& [name, json] : table.items()) {
      if (!json.is_object() || !json.contains("shape") || !json.contains("hash")) {
        refuse(key, fmt::format("{}: expected shape and hash", printable(name)));
      }
      weights[name] = {.shape = shape(key, json["shape"]), .hash = hash(key, json["hash"])};
    }
    return weights;
  }

  std::map<std::string, uint64_t> hashes(const std::string& key) const {
    std::map<std::string, uint64_t> hashes;
    const Json table = object(key);
    for (const auto& [name, json] : table.items()) hashes[name] = hash(key, json);
    return hashes;
  }

  std::map<std::string, std::string> fingerprints(const std::string& key) const {
    std::map<std::string, std::string> fingerprints;
    for (const auto& [entry, value] : hashes(key)) fingerprints[entry] = hash_text(value);
    return fingerprints;
  }

 private:
  const std::string& path_;
  const Metadata& metadata_;
};

void check_whole(const SafetensorsFile& file, const FieldReader& fields) {
  Sizes sizes;
  for (const auto& [name, entry] : file.tensors()) sizes[name] = entry.size;
  if (fields.text(kChecksum) == module_header_checksum(file.metadata(), sizes)) return;
  fields.refuse(kChecksum, "it does not fit the header");
}

}  // namespace

// Lengths keep different lists apart.
std::string module_header_checksum(const Metadata& metadata, const Sizes& sizes) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (key == kChecksum) continue;
    text += fmt::format("{} {} {} {}\n", key.size(), key, value.size(), value);
  }
  for (const auto& [name, size] : sizes) {
    text += fmt::format("{} {} {}\n", name.size(), name, size);
  }
  return hash_text(XXH3_64bits(text.data(), text.size()));
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

bool is_module_metadata(const Metadata& metadata) {
  const auto found = metadata.find("schema");
  return found != metadata.end() && found->second == kSchema;
}

Metadata module_metadata(const ModuleHeader& header, const std::vector<NamedTensor>& tensors) {
  Metadata metadata = {
      {"schema", kSchema},
      {"schema_version", kSchemaVersion},
      {"zoetrope_version", header.version},
      {"target", header.target},
      {"packing_version", fmt::format("{}", header.packing_version)},
      {"family", header.family},
      {"config", header.config},
      {"weights", weights_json(header.weights).dump()},
      {"constants", hashes_json(header.constants).dump()},
      {"plans", Json(header.fingerprints).dump()},
  };
  if (header.encode_dtype) metadata["encode_dtype"] = name_of(*header.encode_dtype);
  if (header.decode_dtype) metadata["decode_dtype"] = name_of(*header.decode_dtype);
  if (!header.disabled_passes.empty()) {
    metadata["disabled_passes"] = fmt::format("{}", fmt::join(header.disabled_passes, ","));
  }
  std::map<std::string, uint64_t> hashes;
  for (const auto& [name, weight] : header.weights) hashes[name] = weight.hash;
  metadata["weights_checksum"] = checksum_of(hashes);
  Sizes sizes;
  for (const NamedTensor& tensor : tensors) {
    sizes[tensor.name] = static_cast<size_t>(tensor.tensor.shape.at(0));
  }
  metadata[kChecksum] = module_header_checksum(metadata, sizes);
  return metadata;
}

ModuleHeader parse_module_metadata(const SafetensorsFile& file) {
  const FieldReader fields(file.path(), file.metadata());
  if (fields.text("schema_version") != kSchemaVersion) {
    fail(ErrorCode::kUnsupported,
         "{}: expected version {} of {}, found {}: a later zoetrope reads it; zoetrope compile "
         "makes one for this release",
         file.path(), kSchemaVersion, kSchema, printable(fields.text("schema_version")));
  }
  check_whole(file, fields);
  ModuleHeader header;
  header.target = fields.text("target");
  header.packing_version = fields.number("packing_version");
  header.family = fields.text("family");
  header.encode_dtype = fields.dtype("encode_dtype");
  header.decode_dtype = fields.dtype("decode_dtype");
  header.disabled_passes = fields.list("disabled_passes");
  header.config = fields.text("config");
  (void)fields.object("config");  // its form; what it means is the model's
  header.weights = fields.weights("weights");
  header.constants = fields.hashes("constants");
  header.fingerprints = fields.fingerprints("plans");
  header.version = fields.text("zoetrope_version");
  if (!header.encode_dtype && !header.decode_dtype) {
    fields.refuse("encode_dtype", "it is missing, and so is decode_dtype");
  }
  return header;
}

}  // namespace zoetrope
