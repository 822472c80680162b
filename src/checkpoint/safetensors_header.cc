// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_header.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/tensor_name.h"

namespace zoetrope {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTensors = 100'000;

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array<DTypeName, 10> kDTypes = {{
    {DType::kFloat64, "F64"},
    {DType::kFloat32, "F32"},
    {DType::kFloat16, "F16"},
    {DType::kBFloat16, "BF16"},
    {DType::kInt64, "I64"},
    {DType::kInt32, "I32"},
    {DType::kInt16, "I16"},
    {DType::kInt8, "I8"},
    {DType::kUInt8, "U8"},
    {DType::kBool, "BOOL"},
}};

// Takes the events of a JSON parser one by one. The form is fixed, {name: {"dtype": string,
// "shape": [integers], "data_offsets": [begin, end]}, "__metadata__": {string: string}}, so a
// place in it is all the state that is needed, and no event is legal at two depths.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool /*value*/) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override {
    unexpected(fmt::format("the negative number {}", value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    unexpected(fmt::format("the number {}", printable(text)));
  }
  bool binary(binary_t& /*value*/) override { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) unexpected("a number");
    std::vector<int64_t>& numbers = place_ == Place::kShape ? shape_ : offsets_;
    const size_t limit = place_ == Place::kShape ? kMaxSafetensorsAxes : 2;
    if (numbers.size() == limit) {
      refuse(fmt::format("{}: more than {} numbers in {}", where(), limit, field_));
    }
    if (value > INT64_MAX) unexpected(fmt::format("the number {}", value));
    numbers.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(name_, std::move(value)).second) twice(name_);
      return true;
    }
    if (place_ != Place::kEntry || field_ != "dtype") unexpected("a string");
    dtype_ = std::move(value);
    return true;
  }

  bool start_object(size_t /*elements*/) override {
    if (place_ == Place::kStart) {
      place_ = Place::kHeader;
    } else if (place_ == Place::kHeader && name_ == kSafetensorsMetadata) {
      if (std::exchange(metadata_seen_, true)) twice(name_);
      place_ = Place::kMetadata;
    } else if (place_ == Place::kHeader) {
      place_ = Place::kEntry;
      seen_ = 0;
      field_.clear();
      shape_.clear();
      offsets_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (place_ != Place::kEntry) {
      name_ = std::move(value);
      return true;
    }
    unsigned bit = 0;
    if (value == "dtype") bit = 1;
    if (value == "shape") bit = 2;
    if (value == "data_offsets") bit = 4;
    if (bit == 0) refuse(fmt::format("{}: unknown field {}", where(), printable(value)));
    if ((seen_ & bit) != 0) twice(value);
    seen_ |= bit;
    field_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry) add_entry();
    place_ = place_ == Place::kHeader ? Place::kEnd : Place::kHeader;
    return true;
  }

  bool start_array(size_t /*elements*/) override {
    if (place_ != Place::kEntry || field_ == "dtype") unexpected("an array");
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kEntry;
    return true;
  }

  // The parser's own text may hold any bytes of the file; the position is enough.
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse(fmt::format("not valid UTF-8 JSON at byte {}", position));
  }

 private:
  enum class Place { kStart, kHeader, kMetadata, kEntry, kShape, kOffsets, kEnd };

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorCode::kCheckpoint, "{}: safetensors header: {}: the file is damaged, get it again",
         path_, what);
  }

  std::string where() const { return place_ == Place::kStart ? "at its start" : printable(name_); }

  [[noreturn]] void unexpected(const std::string& found) const {
    const char* expected = "an object";
    if (place_ == Place::kMetadata || field_ == "dtype") expected = "a string";
    if (place_ == Place::kEntry && field_ != "dtype") expected = "an array";
    if (place_ == Place::kShape || place_ == Place::kOffsets) expected = "integers of 0 or more";
    refuse(fmt::format("{}: expected {}, found {}", where(), expected, found));
  }

  [[noreturn]] void twice(const std::string& key) const {
    refuse(fmt::format("{}: key {} stands twice", where(), printable(key)));
  }

  DType parse_dtype_name() const {
    for (const DTypeName& row : kDTypes) {
      if (row.name == dtype_) return row.dtype;
    }
    fail(ErrorCode::kCheckpoint,
         "{}: tensor {}: dtype {} is not supported (F64, F32, F16, BF16, I64, I32, I16, I8, U8, "
         "BOOL are): use the file's F32, BF16 or F16 edition",
         path_, where(), printable(dtype_));
  }

  void add_entry() {
    check_tensor_name(path_, name_);
    if (seen_ != 7) refuse(fmt::format("{}: needs dtype, shape and data_offsets", where()));
    SafetensorsEntry entry;
    entry.dtype = parse_dtype_name();
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) {
      refuse(
          fmt::format("{}: data_offsets {}: expected [begin, end]", where(), to_string(offsets_)));
    }
    const std::optional<int64_t> count = checked_element_count(shape_);
    const auto size = count ? checked_multiply(*count, size_of(entry.dtype)) : std::nullopt;
    if (!size) refuse(fmt::format("{}: shape {} is too large", where(), to_string(shape_)));
    if (*size != offsets_[1] - offsets_[0]) {
      refuse(fmt::format("{}: {} {} takes {} bytes, but data_offsets {} hold {}", where(), dtype_,
                         to_string(shape_), *size, to_string(offsets_), offsets_[1] - offsets_[0]));
    }
    entry.shape = shape_;
    entry.offset = static_cast<size_t>(offsets_[0]);
    entry.size = static_cast<size_t>(*size);
    if (!header_.tensors.emplace(name_, std::move(entry)).second) twice(name_);
    if (header_.tensors.size() > kMaxTensors) refuse(fmt::format("over {} tensors", kMaxTensors));
  }

  const std::string& path_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  bool metadata_seen_ = false;
  std::string name_;   // key in the header or in the metadata
  std::string field_;  // key in the entry
  unsigned seen_ = 0;  // fields of the entry, a bit each
  std::string dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> offsets_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path) {
  const size_t first = json.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || json[first] != '{') {
    fail(ErrorCode::kCheckpoint, "{}: not safetensors: expected a JSON object as the header", path);
  }
  HeaderReader reader(path);
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

std::string_view safetensors_name_of(DType dtype) {
  for (const DTypeName& row : kDTypes) {
    if (row.dtype == dtype) return row.name;
  }
  fail(ErrorCode::kInternal, "safetensors: unknown dtype {}", static_cast<int>(dtype));
}

}  // namespace zoetrope
