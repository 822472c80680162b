// SPDX-License-Identifier: Apache-2.0
// Fields as in IREE's runtime/src/iree/schemas/parameter_archive.h. Stricter than IREE's own reader
// where that one reads outside of a segment or loses tensors.
#include "checkpoint/irpa.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/byte_view.h"
#include "checkpoint/mapped_checkpoint.h"

namespace zoetrope {
namespace {

constexpr uint64_t kEntryHeaderSize = 60;
constexpr uint64_t kSplatEntrySize = 85;
constexpr uint64_t kLongestPattern = 16;
constexpr uint64_t kLongestName = 4096;
constexpr uint64_t kLongestMetadata = 65536;
constexpr size_t kMaxAxes = 8;

// A splat has no bytes in the file, so a small one could stand for terabytes.
constexpr int64_t kLargestSplats = int64_t{4} << 30;  // all together

using Pattern = std::array<std::byte, kLongestPattern>;

struct Segment {
  uint64_t offset = 0;  // from the start of the file
  uint64_t size = 0;
};

struct Entry {
  std::string name;
  std::string_view metadata;
  uint64_t offset = 0;        // from the start of the file
  uint64_t size = 0;          // bytes
  uint64_t pattern_size = 0;  // 0: no splat
  Pattern pattern = {};       // what a splat repeats
};

struct TensorType {
  DType dtype = DType::kUInt8;
  std::vector<int64_t> shape;
};

class Archive {
 public:
  Archive(std::span<const std::byte> bytes, const std::string& source)
      : bytes_(bytes, "parameter archive", source), source_(source) {}

  std::vector<Entry> read() {
    check_header();
    const uint64_t count = bytes_.number(32, 8);
    const Segment table = segment(40);
    metadata_ = segment(56);
    storage_ = segment(72);
    if (count > table.size / kEntryHeaderSize + 1) {
      bytes_.damaged(fmt::format("{} entries in a table of {} bytes", count, table.size));
    }
    std::vector<Entry> entries;
    uint64_t position = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t size = entry_size(table, position);
      if (auto entry = read_entry(table.offset + position, size)) entries.push_back(*entry);
      position += size + (kIrpaEntryAlignment - size % kIrpaEntryAlignment) % kIrpaEntryAlignment;
    }
    return entries;
  }

 private:
  void check_header() const {
    const uint64_t major = bytes_.number(4, 2);
    const uint64_t minor = bytes_.number(6, 2);
    if (major != 0 || minor != 0) {
      fail(ErrorCode::kCheckpoint,
           "{}: parameter archive of version {}.{}; expected 0.0: convert it again", source_, major,
           minor);
    }
    if (bytes_.number(8, 8) != kIrpaHeaderSize || bytes_.number(24, 8) != 0) {
      bytes_.damaged("its header is not one of version 0");
    }
    if (bytes_.number(16, 8) != 0) {
      fail(ErrorCode::kCheckpoint,
           "{}: another parameter archive follows in the file; expected one: write them into one "
           "archive, or files of their own",
           source_);
    }
  }

  // The segment whose offset and length stand at `at`.
  Segment segment(uint64_t at) const {
    const Segment found = {bytes_.number(at, 8), bytes_.number(at + 8, 8)};
    bytes_.view(found.offset, found.size);
    return found;
  }

  // Of the entry at `position` in the table, which it fits.
  uint64_t entry_size(const Segment& table, uint64_t position) const {
    const bool begins = position < table.size && table.size - position >= kEntryHeaderSize;
    const uint64_t size = begins ? bytes_.number(table.offset + position, 8) : 0;
    if (size < kEntryHeaderSize || size > table.size - position) {
      bytes_.damaged(fmt::format("an entry at byte {} of a table of {}", position, table.size));
    }
    return size;
  }

  std::string_view reference(uint64_t at, uint64_t longest, const char* what) const {
    const uint64_t offset = bytes_.number(at, 8);
    const uint64_t size = bytes_.number(at + 8, 8);
    if (size == 0) return {};
    if (size > longest || offset > metadata_.size || size > metadata_.size - offset) {
      bytes_.damaged(
          fmt::format("a {} of {} bytes at byte {}; expected up to {} in a segment of "
                      "{}",
                      what, size, offset, longest, metadata_.size));
    }
    return bytes_.view(metadata_.offset + offset, size);
  }

  // Empty for a hole in the table.
  std::optional<Entry> read_entry(uint64_t at, uint64_t size) const {
    const uint64_t type = bytes_.number(at + 8, 4);
    if (type == static_cast<uint64_t>(IrpaEntry::kSkip)) return std::nullopt;
    Entry entry;
    entry.name = reference(at + 20, kLongestName, "name");
    entry.metadata = reference(at + 36, kLongestMetadata, "metadata");
    if (type == static_cast<uint64_t>(IrpaEntry::kExternal)) {
      fail(ErrorCode::kCheckpoint,
           "{}: tensor {} is in another file; expected all in one archive: write it again with "
           "the tensors inside",
           source_, printable(entry.name));
    }
    const bool splat = type == static_cast<uint64_t>(IrpaEntry::kSplat);
    if (!splat && type != static_cast<uint64_t>(IrpaEntry::kData)) {
      bytes_.damaged(fmt::format("{}: entry of the unknown type {}", printable(entry.name), type));
    }
    if (size < (splat ? kSplatEntrySize : kIrpaDataEntrySize)) {
      bytes_.damaged(fmt::format("{}: entry of {} bytes", printable(entry.name), size));
    }
    if (splat) {
      read_splat(at, entry);
    } else {
      read_place(at, entry);
    }
    return entry;
  }

  void read_splat(uint64_t at, Entry& entry) const {
    entry.size = bytes_.number(at + 60, 8);
    entry.pattern_size = bytes_.number(at + 84, 1);
    const uint64_t size = entry.pattern_size;
    const bool power = size != 0 && (size & (size - 1)) == 0 && size <= kLongestPattern;
    if (!power || entry.size % size != 0) {
      bytes_.damaged(
          fmt::format("{}: a pattern of {} bytes for {}; expected 1, 2, 4, 8 or 16 that "
                      "divide them",
                      printable(entry.name), size, entry.size));
    }
    const std::string_view pattern = bytes_.view(at + 68, size);
    for (uint64_t i = 0; i < kLongestPattern; ++i) {
      entry.pattern[i] = static_cast<std::byte>(pattern[i % size]);
    }
  }

  void read_place(uint64_t at, Entry& entry) const {
    const uint64_t offset = bytes_.number(at + 60, 8);
    entry.size = bytes_.number(at + 68, 8);
    if (offset > storage_.size || entry.size > storage_.size - offset) {
      bytes_.damaged(fmt::format("{}: {} bytes at byte {} of a segment of {}",
                                 printable(entry.name), entry.size, offset, storage_.size));
    }
    entry.offset = storage_.offset + offset;
  }

  ByteView bytes_;
  const std::string& source_;
  Segment metadata_;
  Segment storage_;
};

class IrpaCheckpoint final : public MappedCheckpoint {
 public:
  explicit IrpaCheckpoint(const std::string& path) : MappedCheckpoint(path, "irpa") {
    const std::vector<Entry> entries = Archive(file().bytes(), path).read();
    std::vector<std::pair<std::string, Place>> places;
    bool typed = entries.empty();
    for (const Entry& entry : entries) {
      const std::optional<TensorType> type = type_of(entry);
      typed = typed || type.has_value();
      const auto size = static_cast<int64_t>(std::min<uint64_t>(entry.size, INT64_MAX));
      places.emplace_back(entry.name,
                          place(entry, type ? *type : TensorType{DType::kUInt8, {size}}));
    }
    if (!typed) {
      fail(ErrorCode::kCheckpoint,
           "{}: none of its {} tensors has a type and shape, which iree-convert-parameters leaves "
           "out: convert the original with zoetrope convert instead",
           path, entries.size());
    }
    set_places(places);
  }

 private:
  [[noreturn]] void refuse(const Entry& entry, const std::string& what) const {
    fail(ErrorCode::kCheckpoint, "{}: tensor {}: {}: write the archive again", source(),
         printable(entry.name), what);
  }

  // From the metadata; empty if that speaks of something else.
  std::optional<TensorType> type_of(const Entry& entry) const {
    std::string_view text = entry.metadata;
    for (const std::string_view prefix : {kIrpaTurbineMetadata, kIrpaRuntimeMetadata}) {
      if (!text.starts_with(prefix)) continue;
      text.remove_prefix(prefix.size());
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (!json.is_object()) refuse(entry, "expected metadata as a JSON object");
      return parse_type(entry, json);
    }
    return std::nullopt;
  }

  TensorType parse_type(const Entry& entry, const nlohmann::json& json) const {
    const auto dtype_text = json.find("dtype");
    const auto shape = json.find("shape");
    if (dtype_text == json.end() || !dtype_text->is_string() || shape == json.end() ||
        !shape->is_array() || shape->size() > kMaxAxes) {
      refuse(entry, fmt::format("expected a dtype and a shape of up to {} axes in the metadata",
                                kMaxAxes));
    }
    const auto& dtype_name = dtype_text->get_ref<const std::string&>();
    const std::optional<DType> dtype = parse_dtype(dtype_name);
    if (!dtype) {
      refuse(entry, fmt::format("dtype {} is not supported; expected float32, float16, bfloat16 or "
                                "another common one",
                                printable(dtype_name)));
    }
    TensorType type = {*dtype, {}};
    for (const auto& extent : *shape) {
      if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) {
        refuse(entry, "expected a shape of whole numbers");
      }
      type.shape.push_back(extent.get<int64_t>());
    }
    const auto count = checked_element_count(type.shape);
    const auto size = count ? checked_multiply(*count, size_of(type.dtype)) : std::nullopt;
    if (!size || static_cast<uint64_t>(*size) != entry.size) {
      refuse(entry, fmt::format("{} bytes; expected those of {} {}", entry.size, dtype_name,
                                to_string(type.shape)));
    }
    return type;
  }

  Place place(const Entry& entry, const TensorType& type) {
    Place place = {entry.offset, entry.size, type.dtype, type.shape, {}};
    const bool splat = entry.pattern_size > 0;
    const int64_t most =
        splat ? kLargestSplats : kMaxSharing * static_cast<int64_t>(file().bytes().size());
    int64_t& total = splat ? splats_total_ : data_total_;
    if (entry.size > static_cast<uint64_t>(most - total)) {
      fail(ErrorCode::kCheckpoint,
           "{}: its {} take more than {} bytes in a file of {}: write it "
           "again with fewer",
           source(), splat ? "splats" : "tensors", most, file().bytes().size());
    }
    total += static_cast<int64_t>(entry.size);
    if (!splat) return place;
    const auto item = static_cast<size_t>(size_of(type.dtype));
    for (size_t i = item; i < kLongestPattern; ++i) {
      if (entry.pattern[i] != entry.pattern[i - item]) {
        refuse(entry,
               fmt::format("a splat of {} bytes for elements of {}", entry.pattern_size, item));
      }
    }
    patterns_[entry.name] = entry.pattern;
    place.offset = place.size = 0;
    return place;
  }

  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    const auto splat = patterns_.find(tensor.name);
    if (splat == patterns_.end()) return MappedCheckpoint::view_tensor(tensor, use);
    Pattern pattern = splat->second;
    use({.data = pattern.data(),
         .dtype = tensor.dtype,
         .shape = tensor.shape,
         .strides = std::vector<int64_t>(tensor.shape.size(), 0)});
  }

  int64_t data_total_ = 0;                   // bytes
  int64_t splats_total_ = 0;                 // bytes
  std::map<std::string, Pattern> patterns_;  // of splats
};

}  // namespace

std::shared_ptr<const Checkpoint> open_irpa(const std::string& path) {
  return std::make_shared<IrpaCheckpoint>(path);
}

}  // namespace zoetrope
