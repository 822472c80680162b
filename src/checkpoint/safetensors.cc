// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "checkpoint/safetensors_header.h"

namespace zoetrope {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they lie in memory");

constexpr size_t kLengthSize = sizeof(uint64_t);  // before the header

// Some writers put spaces before the header to align the data; no more than a page.
constexpr size_t kLongestIndent = 4096;

// Length of the header, which fits the file.
size_t header_length(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kLengthSize) {
    fail(ErrorCode::kCheckpoint, "{}: not safetensors: {} bytes; expected at least {}", file.path(),
         bytes.size(), kLengthSize);
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthSize);
  if (length > kLongestSafetensorsHeader) {
    fail(ErrorCode::kCheckpoint, "{}: not safetensors: a header of {} bytes; expected at most {}",
         file.path(), length, kLongestSafetensorsHeader);
  }
  if (length > bytes.size() - kLengthSize) {
    fail(ErrorCode::kCheckpoint,
         "{}: a safetensors header of {} bytes in a file of {}: the file was cut, get it again",
         file.path(), length, bytes.size());
  }
  return length;
}

// Refuses holes, overlaps, and tensors outside of the `data_size` bytes.
void check_places(const std::string& path, const std::map<std::string, SafetensorsEntry>& tensors,
                  size_t data_size) {
  using Row = std::pair<const std::string, SafetensorsEntry>;
  std::vector<const Row*> rows;
  rows.reserve(tensors.size());
  for (const Row& row : tensors) rows.push_back(&row);
  std::ranges::sort(rows, {}, [](const Row* row) {
    return std::pair(row->second.offset, row->second.size);  // an empty tensor before its neighbour
  });
  size_t end = 0;
  for (const Row* row : rows) {
    const SafetensorsEntry& entry = row->second;
    if (entry.offset != end) {
      fail(ErrorCode::kCheckpoint,
           "{}: tensor {} starts at byte {} of the data; expected {}: the file is damaged, get it "
           "again",
           path, printable(row->first), entry.offset, end);
    }
    end += entry.size;  // both below 2^63: no overflow, and `end` is checked by the next offset
    if (end > data_size) {
      fail(ErrorCode::kCheckpoint,
           "{}: tensor {} ends at byte {} of {} bytes of data: the file was cut, get it again",
           path, printable(row->first), end, data_size);
    }
  }
  if (end != data_size) {
    fail(ErrorCode::kCheckpoint,
         "{}: the tensors take {} bytes, the file has {}: the file is damaged, get it again", path,
         end, data_size);
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const size_t length = header_length(file_);
  const size_t data_start = kLengthSize + length;
  const auto* text = reinterpret_cast<const char*>(file_.bytes().data()) + kLengthSize;
  SafetensorsHeader header = parse_safetensors_header({text, length}, path);
  check_places(path, header.tensors, file_.bytes().size() - data_start);
  for (auto& [name, entry] : header.tensors) entry.offset += data_start;
  metadata_ = std::move(header.metadata);
  tensors_ = std::move(header.tensors);
}

bool looks_like_safetensors(const std::string& path) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  if (!file.read(reinterpret_cast<char*>(&length), kLengthSize)) return false;
  if (length > kLongestSafetensorsHeader) return false;
  std::string start(std::min<size_t>(length, kLongestIndent), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  const size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string::npos && start[first] == '{';
}

}  // namespace zoetrope
