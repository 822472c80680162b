// SPDX-License-Identifier: Apache-2.0
// Files byte by byte, valid or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zoetrope {

// `value` in `size` bytes, little-endian.
inline std::string little(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return bytes;
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return little(header.size(), 8) + std::string(header) + std::string(data);
}

// Protocol 2 instructions, each a piece of a pickle.
namespace pickle {

inline std::string text(std::string_view value) {
  return std::string("X") + little(value.size(), 4) + std::string(value);
}

inline std::string integer(int64_t value) {
  return std::string("\x8a\x08") + little(static_cast<uint64_t>(value), 8);
}

inline std::string global(std::string_view module, std::string_view name) {
  return std::string("c").append(module) + "\n" + std::string(name) + "\n";
}

inline std::string tuple(const std::string& items) { return "(" + items + "t"; }

inline std::string integers(const std::vector<int64_t>& values) {
  std::string items;
  for (const int64_t value : values) items += integer(value);
  return tuple(items);
}

// A new dict with `items`: keys and values in turn.
inline std::string dict(const std::string& items) { return "}(" + items + "u"; }

struct Tensor {
  std::string type = "FloatStorage";
  std::string key = "0";
  int64_t storage_elements = 6;
  int64_t offset = 0;
  std::vector<int64_t> shape = {2, 3};
  std::vector<int64_t> strides = {3, 1};
};

inline std::string storage(const Tensor& tensor) {
  return tuple(text("storage") + global("torch", tensor.type) + text(tensor.key) + text("cpu") +
               integer(tensor.storage_elements)) +
         "Q";
}

inline std::string tensor(const Tensor& tensor = {}) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(storage(tensor) + integer(tensor.offset) + integers(tensor.shape) +
               integers(tensor.strides) + "\x89" + global("collections", "OrderedDict") + ")R") +
         "R";
}

// A whole pickle whose result is what `body` leaves on the stack.
inline std::string program(const std::string& body) { return "\x80\x02" + body + "."; }

}  // namespace pickle

// Pieces of a GGUF file.
namespace gguf {

inline std::string text(std::string_view value) {
  return little(value.size(), 8) + std::string(value);
}

inline std::string key(std::string_view name, uint32_t type, std::string_view value) {
  return text(name) + little(type, 4) + std::string(value);
}

struct Tensor {
  std::string name = "t";
  std::vector<uint64_t> dims = {2};  // the fastest first
  uint32_t type = 0;                 // F32
  uint64_t offset = 0;
};

inline std::string row(const Tensor& tensor) {
  std::string bytes = text(tensor.name) + little(tensor.dims.size(), 4);
  for (const uint64_t extent : tensor.dims) bytes += little(extent, 8);
  return bytes + little(tensor.type, 4) + little(tensor.offset, 8);
}

// The data starts at the next multiple of 32.
inline std::string file(const std::vector<std::string>& keys, const std::vector<Tensor>& tensors,
                        std::string_view data, uint32_t version = 3) {
  std::string bytes = std::string("GGUF") + little(version, 4) + little(tensors.size(), 8);
  bytes += little(keys.size(), 8);
  for (const std::string& piece : keys) bytes += piece;
  for (const Tensor& tensor : tensors) bytes += row(tensor);
  bytes.resize((bytes.size() + 31) / 32 * 32);
  return bytes + std::string(data);
}

}  // namespace gguf

// Pieces of a parameter archive of IREE.
namespace irpa {

inline std::string metadata(std::string_view dtype, std::string_view shape) {
  return std::string(R"(TENSORv0:{"type": "Tensor", "dtype": ")")
      .append(dtype)
      .append(R"(", "shape": )")
      .append(shape)
      .append("}");
}

struct Entry {
  std::string name = "t";
  std::string metadata = irpa::metadata("float32", "[2]");
  uint64_t type = 2;    // data
  uint64_t offset = 0;  // in the storage segment
  uint64_t length = 8;
  std::string pattern = {};     // of a splat, whose type is 1
  uint64_t declared_size = 0;   // of the entry; 0: as it is
  uint64_t name_offset = 0;     // added to where the name is
  uint64_t pattern_length = 0;  // 0: the pattern's
};

// What stands in the header; 0: what fits.
struct Header {
  uint64_t version = 0;
  uint64_t header_size = 88;
  uint64_t next = 0;
  uint64_t count = 0;
  uint64_t storage_length = 0;
};

inline std::string file(const std::vector<Entry>& entries, std::string_view data,
                        const Header& header = {}) {
  std::string table;
  std::string names;
  for (const Entry& entry : entries) {
    table.resize((table.size() + 15) / 16 * 16);
    std::string tail = little(entry.offset, 8) + little(entry.length, 8);
    if (entry.type == 1) {
      const uint64_t size = entry.pattern_length == 0 ? entry.pattern.size() : entry.pattern_length;
      std::string pattern = entry.pattern;
      pattern.resize(16);
      tail = little(entry.length, 8) + pattern + little(size, 1);
    }
    if (entry.type == 3) tail = little(0, 16) + tail;  // a path first
    const uint64_t size = entry.declared_size == 0 ? 60 + tail.size() : entry.declared_size;
    table += little(size, 8) + little(entry.type, 4) + little(0, 8) +
             little(names.size() + entry.name_offset, 8) + little(entry.name.size(), 8) +
             little(names.size() + entry.name.size(), 8) + little(entry.metadata.size(), 8) +
             little(64, 8) + tail;
    names += entry.name + entry.metadata;
  }
  const uint64_t names_at = 96 + table.size();
  const uint64_t storage_at = (names_at + names.size() + 63) / 64 * 64;
  std::string bytes = std::string("IRPA") + little(header.version, 4) +
                      little(header.header_size, 8) + little(header.next, 8) + little(0, 8) +
                      little(header.count == 0 ? entries.size() : header.count, 8) + little(96, 8) +
                      little(table.size(), 8) + little(names_at, 8) + little(names.size(), 8) +
                      little(storage_at, 8) +
                      little(header.storage_length == 0 ? data.size() : header.storage_length, 8);
  bytes.resize(96);
  bytes += table + names;
  bytes.resize(storage_at);
  return bytes + std::string(data);
}

}  // namespace irpa

// A member of a zip archive; the second group is what a damaged or hostile archive says instead.
struct ZipEntry {
  std::string name;
  std::string content;
  uint16_t method = 0;
  uint16_t flags = 0;
  std::string local_name = name;
  int64_t declared_size = -1;    // -1: the content's
  int64_t declared_offset = -1;  // of the member's own header; -1: where it is
  bool zip64 = false;            // the directory keeps sizes and offset in its 64-bit field
};

inline std::string zip_bytes(const std::vector<ZipEntry>& entries) {
  std::string file;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const uint64_t size =
        entry.declared_size < 0 ? entry.content.size() : static_cast<uint64_t>(entry.declared_size);
    const uint64_t offset =
        entry.declared_offset < 0 ? file.size() : static_cast<uint64_t>(entry.declared_offset);
    const std::string shared = little(20, 2) + little(entry.flags, 2) + little(entry.method, 2) +
                               little(0, 4) + little(0, 4) + little(size, 4) + little(size, 4);
    file += "PK\x03\x04" + shared + little(entry.local_name.size(), 2) + little(0, 2) +
            entry.local_name + entry.content;
    const std::string wide =
        little(1, 2) + little(24, 2) + little(size, 8) + little(size, 8) + little(offset, 8);
    const std::string extra = entry.zip64 ? wide : "";
    const std::string narrow = little(entry.zip64 ? UINT32_MAX : size, 4);
    directory += "PK\x01\x02" + little(20, 2) + shared.substr(0, 14) + narrow + narrow +
                 little(entry.name.size(), 2) + little(extra.size(), 2) + little(0, 2) +
                 little(0, 2) + little(0, 2) + little(0, 4) +
                 little(entry.zip64 ? UINT32_MAX : offset, 4) + entry.name + extra;
  }
  const std::string count = little(entries.size(), 2);
  return file + directory + "PK\x05\x06" + little(0, 4) + count + count +
         little(directory.size(), 4) + little(file.size(), 4) + little(0, 2);
}

// `values` as the bytes of float32.
inline std::string float_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// A torch checkpoint of one storage "0" with 6 float32: 0, 1, 2, 3, 4, 5.
inline std::vector<ZipEntry> torch_entries(const std::string& pickle_bytes) {
  return {{.name = "model/data.pkl", .content = pickle_bytes},
          {.name = "model/byteorder", .content = "little"},
          {.name = "model/data/0", .content = float_bytes({0, 1, 2, 3, 4, 5})},
          {.name = "model/version", .content = "3\n"}};
}

}  // namespace zoetrope
