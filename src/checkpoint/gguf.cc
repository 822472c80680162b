// SPDX-License-Identifier: Apache-2.0
// Fields as in ggml's docs/gguf.md.
#include "checkpoint/gguf.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/byte_view.h"
#include "checkpoint/mapped_checkpoint.h"
#include "checkpoint/tensor_name.h"

namespace zoetrope {
namespace {

constexpr uint64_t kMaxTensors = 100'000;
constexpr uint64_t kMaxKeys = 100'000;
constexpr uint64_t kLongestKey = 65535;        // the format's limit, in bytes
constexpr int kMaxNesting = 4;                 // of arrays
constexpr uint64_t kMaxAxes = 5;               // some writers pass over ggml's limit of 4
constexpr uint64_t kMaxShapeAxes = 8;          // of a shape kept under kGgufShapeKey
constexpr uint64_t kLargestAlignment = 65536;  // far above any page

// Bytes of a value, by GgufValue; 0 for texts and arrays.
constexpr std::array<uint32_t, 13> kUnitSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// What people call the quantised types they are likely to have.
struct QuantisedType {
  uint64_t id;
  const char* name;
};

constexpr std::array<QuantisedType, 11> kQuantised = {{{2, "Q4_0"},
                                                       {3, "Q4_1"},
                                                       {6, "Q5_0"},
                                                       {7, "Q5_1"},
                                                       {8, "Q8_0"},
                                                       {10, "Q2_K"},
                                                       {11, "Q3_K"},
                                                       {12, "Q4_K"},
                                                       {13, "Q5_K"},
                                                       {14, "Q6_K"},
                                                       {15, "Q8_K"}}};

std::string name_of_type(uint64_t type) {
  for (const QuantisedType& row : kQuantised) {
    if (row.id == type) return row.name;
  }
  return fmt::format("ggml type {}", type);
}

// A tensor as the file describes it.
struct TensorRow {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // the slowest axis first
  uint64_t offset = 0;         // from the start of the data
  uint64_t size = 0;           // bytes
};

class Header {
 public:
  Header(std::span<const std::byte> bytes, const std::string& source)
      : bytes_(bytes, "GGUF file", source), source_(source) {}

  void read() {
    check_version();
    const uint64_t tensors = bytes_.number(8, 8);
    const uint64_t keys = bytes_.number(16, 8);
    if (tensors > kMaxTensors || keys > kMaxKeys) {
      bytes_.damaged(fmt::format("{} tensors and {} keys; expected at most {} and {}", tensors,
                                 keys, kMaxTensors, kMaxKeys));
    }
    position_ = 24;
    for (uint64_t i = 0; i < keys; ++i) read_key();
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    data_start_ = position_ + (alignment_ - position_ % alignment_) % alignment_;
    check_places();
    for (TensorRow& row : rows_) restore_shape(row);
  }

  uint64_t data_start() const { return data_start_; }
  const std::vector<TensorRow>& rows() const { return rows_; }

 private:
  void check_version() const {
    const uint64_t version = bytes_.number(4, 4);
    if (version == 2 || version == 3) return;
    if ((version & 0xffff) == 0 && version != 0) {
      fail(ErrorCode::kCheckpoint,
           "{}: a big-endian GGUF file; expected little-endian: get or make that edition", source_);
    }
    fail(ErrorCode::kCheckpoint,
         "{}: GGUF version {}; expected 2 or 3: convert it again with a "
         "newer tool",
         source_, version);
  }

  uint64_t take(size_t size) {
    const uint64_t value = bytes_.number(position_, size);
    position_ += size;
    return value;
  }

  std::string_view take_text(uint64_t longest) {
    const uint64_t size = take(8);
    if (size > longest) bytes_.damaged(fmt::format("a text of {} bytes", size));
    const std::string_view text = bytes_.view(position_, size);
    position_ += size;
    return text;
  }

  void read_key() {
    const std::string key(take_text(kLongestKey));
    if (!keys_.insert(key).second) bytes_.damaged("key " + printable(key) + " stands twice");
    const uint64_t type = take(4);
    if (key == "general.alignment") return read_alignment(type);
    if (key.starts_with(kGgufShapeKey)) {
      return read_shape(key.substr(kGgufShapeKey.size()), type);
    }
    skip_value(type, 0);
  }

  void read_alignment(uint64_t type) {
    const bool number = type == static_cast<uint64_t>(GgufValue::kUInt32);
    alignment_ = number ? take(4) : 0;
    const bool power = alignment_ != 0 && (alignment_ & (alignment_ - 1)) == 0;
    if (!power || alignment_ > kLargestAlignment) {
      bytes_.damaged(
          fmt::format("general.alignment: expected a power of two up to {}", kLargestAlignment));
    }
  }

  void read_shape(const std::string& tensor, uint64_t type) {
    const bool array = type == static_cast<uint64_t>(GgufValue::kArray);
    const uint64_t item = array ? take(4) : 0;
    const uint64_t count = array ? take(8) : 0;
    const bool wide = item == static_cast<uint64_t>(GgufValue::kInt64);
    if ((!wide && item != static_cast<uint64_t>(GgufValue::kInt32)) || count > kMaxShapeAxes) {
      bytes_.damaged(fmt::format("shape of {}: expected an array of up to {} integers",
                                 printable(tensor), kMaxShapeAxes));
    }
    std::vector<int64_t>& shape = shapes_[tensor];
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t extent = take(wide ? 8 : 4);
      // An extent that is negative becomes one that no tensor has.
      shape.push_back(static_cast<int64_t>(std::min<uint64_t>(extent, INT64_MAX)));
    }
  }

  void skip_value(uint64_t type, int nesting) {
    if (type > static_cast<uint64_t>(GgufValue::kFloat64)) {
      bytes_.damaged(fmt::format("a value of the unknown type {}", type));
    }
    if (type == static_cast<uint64_t>(GgufValue::kString)) {
      take_text(bytes_.size());
      return;
    }
    if (type == static_cast<uint64_t>(GgufValue::kArray)) return skip_array(nesting);
    skip_bytes(kUnitSizes[type]);
  }

  void skip_array(int nesting) {
    if (nesting == kMaxNesting) {
      bytes_.damaged(fmt::format("arrays in arrays, more than {} deep", kMaxNesting));
    }
    const uint64_t type = take(4);
    const uint64_t count = take(8);
    // An item takes a byte at least, so that no count costs more than the file is long.
    if (count > bytes_.size()) bytes_.damaged(fmt::format("an array of {} items", count));
    const bool plain = type <= static_cast<uint64_t>(GgufValue::kFloat64) && kUnitSizes[type] > 0;
    if (plain) return skip_bytes(count * kUnitSizes[type]);
    for (uint64_t i = 0; i < count; ++i) skip_value(type, nesting + 1);
  }

  void skip_bytes(uint64_t size) {
    bytes_.view(position_, size);
    position_ += size;
  }

  void read_tensor() {
    TensorRow row;
    row.name = take_text(bytes_.size());
    check_tensor_name(source_, row.name);
    const uint64_t axes = take(4);
    if (axes > kMaxAxes) {
      bytes_.damaged(fmt::format("tensor {} of {} dimensions; expected at most {}",
                                 printable(row.name), axes, kMaxAxes));
    }
    for (uint64_t i = 0; i < axes; ++i) {
      row.shape.push_back(static_cast<int64_t>(std::min<uint64_t>(take(8), INT64_MAX)));
    }
    std::ranges::reverse(row.shape);
    row.dtype = type_of(row.name, take(4));
    row.offset = take(8);
    const auto count = checked_element_count(row.shape);
    const auto size = count ? checked_multiply(*count, size_of(row.dtype)) : std::nullopt;
    if (!size) {
      bytes_.damaged(fmt::format("tensor {}: shape {} is too large", printable(row.name),
                                 to_string(row.shape)));
    }
    row.size = static_cast<uint64_t>(*size);
    if (row.shape.size() == 1) vectors_[row.name] = row.shape[0];
    rows_.push_back(std::move(row));
  }

  DType type_of(const std::string& name, uint64_t type) const {
    for (const GgufType& row : kGgufTypes) {
      if (row.id == type) return row.dtype;
    }
    fail(ErrorCode::kCheckpoint,
         "{}: tensor {} is {}; expected F32, F16 or BF16: get an edition that is not quantised",
         source_, printable(name), name_of_type(type));
  }

  // Every tensor lies inside the file, on a multiple of the alignment, and overlaps no other.
  void check_places() const {
    const uint64_t data_size = bytes_.size() - std::min<uint64_t>(data_start_, bytes_.size());
    std::vector<const TensorRow*> sorted;
    for (const TensorRow& row : rows_) {
      if (row.size > 0) sorted.push_back(&row);
    }
    std::ranges::sort(sorted, {}, &TensorRow::offset);
    uint64_t end = 0;
    for (const TensorRow* row : sorted) {
      if (row->offset > data_size || row->size > data_size - row->offset) {
        bytes_.damaged(
            fmt::format("tensor {} ends after the file, which was cut", printable(row->name)));
      }
      if (row->offset % alignment_ != 0 || row->offset < end) {
        bytes_.damaged(
            fmt::format("tensor {} starts at byte {} of the data; expected a multiple "
                        "of {} from {} on",
                        printable(row->name), row->offset, alignment_, end));
      }
      end = row->offset + row->size;
    }
  }

  // The shape that `row` had before it was made to fit four dimensions.
  void restore_shape(TensorRow& row) const {
    const auto kept = shapes_.find(row.name);
    if (kept != shapes_.end()) {
      if (checked_element_count(kept->second) != checked_element_count(row.shape)) {
        bytes_.damaged(fmt::format("tensor {}: shape {} was kept of {}", printable(row.name),
                                   to_string(kept->second), to_string(row.shape)));
      }
      row.shape = kept->second;
      return;
    }
    unfold_conv(row);
  }

  // stable-diffusion.cpp stores the weight of a 3-D conv as (c_out * c_in, kt, kh, kw). Its bias
  // tells c_out.
  void unfold_conv(TensorRow& row) const {
    constexpr std::string_view kWeight = ".weight";
    if (row.shape.size() != kGgufDims || !row.name.ends_with(kWeight)) return;
    const std::string bias = row.name.substr(0, row.name.size() - kWeight.size()) + ".bias";
    const auto found = vectors_.find(bias);
    if (found == vectors_.end() || found->second < 1) return;
    const int64_t filters = found->second;
    if (row.shape[0] <= filters || row.shape[0] % filters != 0) return;
    row.shape[0] /= filters;
    row.shape.insert(row.shape.begin(), filters);
  }

  ByteView bytes_;
  const std::string& source_;
  uint64_t position_ = 0;
  uint64_t alignment_ = kGgufAlignment;
  uint64_t data_start_ = 0;
  std::set<std::string> keys_;
  std::map<std::string, std::vector<int64_t>> shapes_;  // by kGgufShapeKey
  std::map<std::string, int64_t> vectors_;              // extents of the tensors that have one axis
  std::vector<TensorRow> rows_;
};

class GgufCheckpoint final : public MappedCheckpoint {
 public:
  explicit GgufCheckpoint(const std::string& path) : MappedCheckpoint(path, "gguf") {
    Header header(file().bytes(), path);
    header.read();
    std::vector<std::pair<std::string, Place>> places;
    for (const TensorRow& row : header.rows()) {
      const uint64_t offset = row.size == 0 ? 0 : header.data_start() + row.offset;
      places.emplace_back(row.name, Place{offset, row.size, row.dtype, row.shape, {}});
    }
    set_places(places);
  }
};

}  // namespace

std::shared_ptr<const Checkpoint> open_gguf(const std::string& path) {
  return std::make_shared<GgufCheckpoint>(path);
}

}  // namespace zoetrope
