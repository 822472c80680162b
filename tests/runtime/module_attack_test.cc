// SPDX-License-Identifier: Apache-2.0
// Modules that were damaged, or made to do damage: each is refused in one line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "runtime/module_file.h"
#include "runtime/module_schema.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

// A whole module taken apart, to be put together otherwise. The header's checksum always fits.
class Parts {
 public:
  static const Parts& good() {
    static const Parts parts;
    return parts;
  }

  json table(const std::string& key) const { return json::parse(metadata.at(key)); }
  void set(const std::string& key, const json& value) { metadata[key] = value.dump(); }

  // The bytes of a tensor, which keep their checksum.
  void set_bytes(const std::string& name, Bytes bytes) {
    json hashes = table("constants");
    hashes[name] = hash_text(module_hash(bytes));
    set("constants", hashes);
    tensors[name] = std::move(bytes);
  }

  std::string first_tensor() const { return tensors.begin()->first; }

  std::string write(const std::string& path, DType dtype = DType::kUInt8, size_t axes = 1) {
    std::map<std::string, size_t> sizes;
    std::vector<NamedTensor> named;
    for (auto& [name, bytes] : tensors) {
      sizes[name] = bytes.size();
      std::vector<int64_t> shape = {static_cast<int64_t>(bytes.size()) / size_of(dtype)};
      shape.resize(axes, 1);
      named.push_back(
          {.name = name, .tensor = {.data = bytes.data(), .dtype = dtype, .shape = shape}});
    }
    metadata.erase("header_checksum");
    metadata["header_checksum"] = module_header_checksum(metadata, sizes);
    write_safetensors(path, named, metadata);
    return path;
  }

  std::map<std::string, std::string> metadata;
  std::map<std::string, Bytes> tensors;

 private:
  Parts() {
    const ScratchFolder folder;
    const std::string path = folder.path("good.zoe");
    write_module("random:4:2", path, {.device = "cpu", .encoder = false});
    const SafetensorsFile file(path);
    metadata = file.metadata();
    for (const auto& [name, entry] : file.tensors()) {
      const auto bytes = file.bytes(entry);
      tensors[name].assign(bytes.begin(), bytes.end());
    }
  }
};

class HostileModule : public ::testing::Test {
 protected:
  std::string load_error(const std::string& path, ErrorCode code = ErrorCode::kCheckpoint) const {
    return refusal(code, [&] { Autoencoder::load(path, {.device = "cpu", .threads = 1}); });
  }
  std::string load_error(Parts& parts, ErrorCode code = ErrorCode::kCheckpoint) const {
    return load_error(parts.write(folder_.path("bad.zoe")), code);
  }

  // One field set to something else.
  std::string field_error(const std::string& key, const std::string& value) const {
    Parts parts = Parts::good();
    parts.metadata[key] = value;
    return load_error(parts);
  }

  ScratchFolder folder_;
};

TEST_F(HostileModule, LoadsWhilePutTogetherAsItWas) {
  Parts parts = Parts::good();
  Autoencoder::load(parts.write(folder_.path("good.zoe")), {.device = "cpu"});
}

TEST_F(HostileModule, LacksAField) {
  for (const auto& [key, value] : Parts::good().metadata) {
    if (key == "schema" || key == "header_checksum" || key == "weights_checksum") continue;
    Parts parts = Parts::good();
    parts.metadata.erase(key);
    EXPECT_THAT(load_error(parts), HasSubstr("zoetrope compile")) << key;
  }
}

TEST_F(HostileModule, HasAFieldThatMeansNothing) {
  EXPECT_THAT(field_error("target", "cpu-avx9"), HasSubstr("cpu-avx9"));
  EXPECT_THAT(field_error("target", "cuda-sm99999999999"), HasSubstr("cuda-sm99999999999"));
  EXPECT_THAT(field_error("target", "cuda-sm-1"), HasSubstr("cuda-sm-1"));
  EXPECT_THAT(field_error("target", std::string("a\nb")), HasSubstr("\\x0a"));
  for (const char* version : {"0", "-1", "1.5", "x", "99999999999999999999", "2"}) {
    EXPECT_THAT(field_error("packing_version", version), HasSubstr("compile")) << version;
  }
  EXPECT_THAT(field_error("packing_version", "2"), HasSubstr("packed by version 2"));
  EXPECT_THAT(field_error("family", "wan3"), HasSubstr("wan3"));
  for (const char* dtype : {"int8", "float", "float64", "float16", "\xc3\xa4"}) {
    EXPECT_THAT(field_error("decode_dtype", dtype), HasSubstr("bad.zoe")) << dtype;
  }
  EXPECT_THAT(field_error("encode_dtype", "float32"), HasSubstr("expected encoder tensors"));
  EXPECT_THAT(field_error("disabled_passes", "fold-everything"), HasSubstr("fold-everything"));
  EXPECT_THAT(field_error("disabled_passes", "fuse-norm"), HasSubstr("plans decode"));
  EXPECT_THAT(field_error("disabled_passes", ",,"), HasSubstr("without the pass"));
  Parts later = Parts::good();
  later.metadata["schema_version"] = "2";
  EXPECT_THAT(load_error(later, ErrorCode::kUnsupported), HasSubstr("later zoetrope"));
}

TEST_F(HostileModule, HasTablesOfAnotherForm) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const std::string long_text = fmt::format(R"({{"a": "{}"}})", std::string(size_t{5} << 20, 'x'));
  for (const char* key : {"weights", "constants", "plans", "config"}) {
    for (const std::string& value : {std::string("x"), std::string("{"), std::string("[1]"),
                                     fmt::format("{{\"a\": {}}}", deep), long_text}) {
      EXPECT_THAT(field_error(key, value), HasSubstr("bad.zoe")) << key << value.substr(0, 40);
    }
    if (key == std::string("config")) continue;  // what it does not know, it leaves alone
    for (const char* value : {R"({"a": 1})", R"({"a": {"shape": 1, "hash": "0"}})"}) {
      EXPECT_THAT(field_error(key, value), HasSubstr("bad.zoe")) << key << value;
    }
  }
  EXPECT_THAT(field_error("config", R"({"latents_mean": [1, 2]})"), HasSubstr("found 2"));
}

TEST_F(HostileModule, HasWeightsOfImpossibleShapes) {
  const std::string name = "decoder.conv1.weight";
  for (const char* shape :
       {"[]", "[0,16,3,3,3]", "[-1,16,3,3,3]", "[1e9,16,3,3,3]", "[16.5,16,3,3,3]",
        "[99999999999999999999,1,1,1,1]", "[65537,16,3,3,3]", "[16,16,3,3,3,1,1,1,1]",
        "[65536,16,3,3,3]", "[17,16,3,3,3]", "[16,17,3,3,3]", "\"[16]\"", "null", "{}"}) {
    Parts parts = Parts::good();
    json weights = parts.table("weights");
    weights[name]["shape"] = json::parse(shape);
    parts.set("weights", weights);
    EXPECT_THAT(load_error(parts), HasSubstr("bad.zoe")) << shape;
  }
  for (const char* hash : {"\"\"", "\"0\"", "1", "\"00000000000000zz\"", "null"}) {
    Parts parts = Parts::good();
    json weights = parts.table("weights");
    weights[name]["hash"] = json::parse(hash);
    parts.set("weights", weights);
    EXPECT_THAT(load_error(parts), HasSubstr("hash")) << hash;
  }
}

TEST_F(HostileModule, HasOtherWeights) {
  Parts without = Parts::good();
  json weights = without.table("weights");
  weights.erase("decoder.conv1.bias");
  without.set("weights", weights);
  EXPECT_THAT(load_error(without), HasSubstr("decoder.conv1.bias"));
  Parts prefixed = Parts::good();
  json renamed = json::object();
  const json own = prefixed.table("weights");
  for (auto it = own.begin(); it != own.end(); ++it) renamed["vae." + it.key()] = it.value();
  prefixed.set("weights", renamed);
  EXPECT_THAT(load_error(prefixed), HasSubstr("by this name"));
  Parts none = Parts::good();
  none.set("weights", json::object());
  EXPECT_THAT(load_error(none), HasSubstr("bad.zoe"));
  // Twice as wide all over: Plans, sizes and fingerprints are of another model.
  Parts wider = Parts::good();
  json wide = wider.table("weights");
  for (auto& weight : wide) {
    for (auto& extent : weight["shape"]) {
      if (extent > 3 && extent != 16) extent = 2 * extent.get<int64_t>();
    }
  }
  wider.set("weights", wide);
  EXPECT_THAT(load_error(wider), HasSubstr("bad.zoe"));
}

TEST_F(HostileModule, HasOtherTensors) {
  Parts missing = Parts::good();
  missing.tensors.erase(missing.first_tensor());
  EXPECT_THAT(load_error(missing), HasSubstr("is missing"));
  Parts unlisted = Parts::good();
  unlisted.tensors["extra"] = Bytes(64);
  EXPECT_THAT(load_error(unlisted), HasSubstr("checksum is missing"));
  Parts renamed = Parts::good();
  const std::string name = renamed.first_tensor();
  renamed.set_bytes("other@plain", renamed.tensors.at(name));
  renamed.tensors.erase(name);
  json constants = renamed.table("constants");
  constants.erase(name);
  renamed.set("constants", constants);
  EXPECT_THAT(load_error(renamed), HasSubstr(name));
}

// A kernel would read beyond the tensor's end.
TEST_F(HostileModule, HasTensorsOfOtherSizes) {
  for (const auto& [name, bytes] : Parts::good().tensors) {
    Parts longer = Parts::good();
    Bytes more = bytes;
    more.resize(more.size() + 64);
    longer.set_bytes(name, more);
    EXPECT_THAT(load_error(longer), HasSubstr("bytes, found")) << name;
    if (bytes.size() == 64) continue;
    Parts shorter = Parts::good();
    Bytes fewer = bytes;
    fewer.resize(fewer.size() - 64);
    shorter.set_bytes(name, fewer);
    EXPECT_THAT(load_error(shorter), HasSubstr("bytes, found")) << name;
  }
  Parts odd = Parts::good();
  Bytes bytes = odd.tensors.at(odd.first_tensor());
  bytes.resize(bytes.size() - 4);
  odd.set_bytes(odd.first_tensor(), bytes);
  EXPECT_THAT(load_error(odd), HasSubstr("multiple of 64"));
  Parts empty = Parts::good();
  empty.set_bytes(empty.first_tensor(), {});
  EXPECT_THAT(load_error(empty), HasSubstr("multiple of 64"));
  Parts floats = Parts::good();
  EXPECT_THAT(load_error(floats.write(folder_.path("floats.zoe"), DType::kFloat32)),
              HasSubstr("expected uint8"));
  Parts square = Parts::good();
  EXPECT_THAT(load_error(square.write(folder_.path("square.zoe"), DType::kUInt8, 2)),
              HasSubstr("expected uint8"));
}

TEST_F(HostileModule, HasOtherFingerprints) {
  Parts parts = Parts::good();
  json plans = parts.table("plans");
  plans["decode.next"] = "0123456789abcdef";
  parts.set("plans", plans);
  EXPECT_THAT(load_error(parts), HasSubstr("plans decode.next otherwise"));
  plans.erase("decode.next");
  parts.set("plans", plans);
  EXPECT_THAT(load_error(parts), HasSubstr("plans decode.next otherwise"));
}

TEST_F(HostileModule, IsDamagedInAnyConstant) {
  for (const auto& [name, bytes] : Parts::good().tensors) {
    Parts parts = Parts::good();
    parts.tensors[name].back() ^= std::byte{1};
    EXPECT_THAT(load_error(parts), HasSubstr(name));
  }
}

// Whatever bit of the header flips: it is refused, or it is no header of a module any more.
TEST_F(HostileModule, IsDamagedInItsHeader) {
  Parts parts = Parts::good();
  const std::string good = read_file(parts.write(folder_.path("good.zoe")));
  uint64_t length = 0;
  std::memcpy(&length, good.data(), sizeof(length));
  const size_t text = good.find_last_not_of(' ', sizeof(length) + length - 1);
  for (size_t at = 0; at <= text; at += 41) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    const std::string path = folder_.write("bad.zoe", bad);
    try {
      Autoencoder::load(path, {.device = "cpu", .threads = 1});
      ADD_FAILURE() << "byte " << at << " may change";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }
}

TEST_F(HostileModule, IsCutOff) {
  Parts parts = Parts::good();
  const std::string good = read_file(parts.write(folder_.path("good.zoe")));
  for (const size_t size : {size_t{0}, size_t{7}, size_t{100}, good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(load_error(folder_.write("cut.zoe", good.substr(0, size))), HasSubstr("cut.zoe"));
  }
}

}  // namespace
}  // namespace zoetrope::testing
