// SPDX-License-Identifier: Apache-2.0
#include "media/npy.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/utf8.h"

namespace zoetrope::media {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLongestHeader = 65536;  // a real one is shorter than 200 bytes
constexpr size_t kMostAxes = 32;

struct Header {
  std::string_view text;   // the dictionary
  size_t data_offset = 0;  // from the start of the file
};

// Magic, version (major, minor), the dictionary's length: 2 bytes in version 1, 4 from then on.
Header find_header(const std::string& path, std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.size() < 10 || !file.starts_with(kMagic)) {
    fail(ErrorCode::kIo, "{}: expected a .npy file, found other bytes at its start", path);
  }
  const int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3) {
    fail(ErrorCode::kUnsupported, "{}: expected .npy version 1, 2 or 3, found {}", path, version);
  }
  const size_t width = version == 1 ? 2 : 4;
  const size_t start = 8 + width;
  if (file.size() < start) fail(ErrorCode::kIo, "{}: truncated .npy header", path);
  size_t length = 0;
  for (size_t i = 0; i < width; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(file[8 + i])) << (8 * i);
  }
  if (length > kLongestHeader || length > file.size() - start) {
    fail(ErrorCode::kIo, "{}: .npy header of {} bytes in a file of {}", path, length, file.size());
  }
  return {file.substr(start, length), start + length};
}

// Reads the literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: its three keys in
// any order, and nothing else that Python would evaluate.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, std::string_view text) : path_(path), text_(text) {
    expect('{');
    while (!accept('}')) {
      const std::string key = parse_string();
      expect(':');
      parse_value(key);
      if (!accept(',') && peek() != '}') refuse();
    }
    skip_space();
    if (!text_.empty() || !descr || !fortran_order || !shape) refuse();
  }

  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorCode::kIo, "{}: expected a .npy header with descr, fortran_order and shape", path_);
  }

  void skip_space() {
    const size_t start = text_.find_first_not_of(" \t\n");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }

  char peek() {
    skip_space();
    return text_.empty() ? '\0' : text_.front();
  }

  bool accept(char wanted) {
    if (peek() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse();
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::string parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse();
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) refuse();
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  void parse_value(const std::string& key) {
    if (key == "descr") {
      if (peek() == '[') fail(ErrorCode::kUnsupported, "{}: a structured .npy array", path_);
      descr = parse_string();
    } else if (key == "fortran_order") {
      fortran_order = accept_word("True");
      if (!*fortran_order && !accept_word("False")) refuse();
    } else if (key == "shape") {
      shape = parse_shape();
    } else {
      refuse();
    }
  }

  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> extents;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || extents.size() == kMostAxes) refuse();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      extents.push_back(extent);
      if (!accept(',') && peek() != ')') refuse();
    }
    return extents;
  }

  const std::string& path_;
  std::string_view text_;
};

DType parse_descr(const std::string& path, const std::string& descr) {
  static const std::map<std::string, DType> kTypes = {
      {"<f8", DType::kFloat64}, {"<f4", DType::kFloat32}, {"<f2", DType::kFloat16},
      {"|u1", DType::kUInt8},   {"<u1", DType::kUInt8},
  };
  const auto found = kTypes.find(descr);
  if (found == kTypes.end()) {
    fail(ErrorCode::kUnsupported,
         "{}: expected little-endian float64, float32, float16 or uint8, found \"{}\": convert it "
         "with numpy's astype",
         path, printable(descr));
  }
  return found->second;
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "<f8";
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat16:
      return "<f2";
    case DType::kUInt8:
      return "|u1";
    default:
      ZOETROPE_CHECK(false, std::string(name_of(dtype)));
  }
  return {};
}

}  // namespace

NpyFile::NpyFile(const std::string& path) : file_(path) {
  const Header header = find_header(path, file_.bytes());
  HeaderParser parsed(path, header.text);
  dtype_ = parse_descr(path, *parsed.descr);
  if (*parsed.fortran_order) {
    fail(ErrorCode::kUnsupported,
         "{}: expected C order, found Fortran order: save numpy.ascontiguousarray(array)", path);
  }
  shape_ = *std::move(parsed.shape);
  const std::optional<int64_t> count = checked_element_count(shape_);
  const std::optional<int64_t> size =
      count ? checked_multiply(*count, size_of(dtype_)) : std::nullopt;
  const size_t found = file_.bytes().size() - header.data_offset;
  if (!size || static_cast<size_t>(*size) != found) {
    fail(ErrorCode::kIo, "{}: expected {} bytes of data after the .npy header, found {}", path,
         size ? fmt::format("{}", *size) : "far too many", found);
  }
  offset_ = header.data_offset;
  size_ = found;
}

bool looks_like_npy(const std::string& path) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(kMagic.size(), '\0');
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kMagic;
}

std::string npy_header(DType dtype, std::span<const int64_t> shape) {
  ZOETROPE_CHECK(shape.size() <= 8, fmt::format("{} axes", shape.size()));
  std::string extents;
  for (const int64_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  const std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                       descr_of(dtype), extents);
  std::string header(kMagic);
  constexpr size_t kLength = kNpyHeaderBytes - 10;
  header += {'\x01', '\x00', static_cast<char>(kLength & 0xff), static_cast<char>(kLength >> 8)};
  header += text;
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

}  // namespace zoetrope::media
