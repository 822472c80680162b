// SPDX-License-Identifier: Apache-2.0
#include "media/container_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace zoetrope::media {
namespace {

// Bytes of a file; those behind its end read as zero, so that callers check places, not reads.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t size() const { return bytes_.size(); }
  bool has(uint64_t at, uint64_t count) const { return at <= size() && count <= size() - at; }

  uint64_t byte(uint64_t at) const {
    return at < size() ? std::to_integer<uint64_t>(bytes_[static_cast<size_t>(at)]) : 0;
  }

  uint64_t big_endian(uint64_t at, int count) const {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | byte(at + static_cast<uint64_t>(i));
    return value;
  }

  uint64_t little_endian(uint64_t at, int count) const {
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i) value = value << 8 | byte(at + static_cast<uint64_t>(i));
    return value;
  }

  bool has_text(uint64_t at, std::string_view text) const {
    return has(at, text.size()) && std::memcmp(bytes_.data() + at, text.data(), text.size()) == 0;
  }

 private:
  std::span<const std::byte> bytes_;
};

// Beyond every file; such a length is damage or "not known".
constexpr uint64_t kLargestFile = uint64_t{1} << 62;

// A part of a file from `at` on; `size` 0: its end is not known, and the walk stops there.
using SizeOfPart = uint64_t (*)(const Bytes& file, uint64_t at);

// Walks over parts that follow one another; gives the end of the one that the file's end cuts.
std::optional<uint64_t> walk(const Bytes& file, uint64_t start, SizeOfPart size_of_part) {
  for (uint64_t at = start; at < file.size();) {
    const uint64_t size = size_of_part(file, at);
    if (size == 0 || size > kLargestFile) return std::nullopt;
    if (!file.has(at, size)) return at + size;
    at += size;
  }
  return std::nullopt;
}

// EBML, RFC 8794, section 4: the first byte's leading zeros say how many bytes a number has. A
// Segment of unknown size, all ones, was written to a pipe.
struct EbmlNumber {
  uint64_t value = 0;
  uint64_t length = 0;
  bool unknown = false;
};

EbmlNumber ebml_number(const Bytes& file, uint64_t at) {
  const uint64_t first = file.byte(at);
  int length = 1;
  while (length <= 8 && (first & (0x100U >> length)) == 0) ++length;
  if (length > 8) return {0, 0, true};
  const uint64_t mask = (uint64_t{1} << (7 * length)) - 1;
  const uint64_t value = file.big_endian(at, length) & mask;
  return {value, static_cast<uint64_t>(length), value == mask};
}

uint64_t matroska_part(const Bytes& file, uint64_t at) {
  constexpr int kIdBytes = 4;  // of both parts at the top level
  constexpr uint64_t kHeader = 0x1a45dfa3;
  constexpr uint64_t kSegment = 0x18538067;
  const uint64_t id = file.big_endian(at, kIdBytes);
  if (id != kHeader && id != kSegment) return 0;
  const EbmlNumber size = ebml_number(file, at + kIdBytes);
  return size.unknown ? 0 : kIdBytes + size.length + size.value;
}

// ISO/IEC 14496-12, section 4.2. Only boxes whose loss matters: what is appended to a file may look
// like a box of any size.
uint64_t mp4_part(const Bytes& file, uint64_t at) {
  static constexpr std::array<std::string_view, 13> kBoxes = {
      "ftyp", "moov", "mdat", "moof", "styp", "sidx", "free",
      "skip", "wide", "meta", "mfra", "uuid", "emsg"};
  const auto is_here = [&](std::string_view box) { return file.has_text(at + 4, box); };
  if (std::none_of(kBoxes.begin(), kBoxes.end(), is_here)) return 0;
  const uint64_t size = file.big_endian(at, 4);  // 0: to the end of the file
  return size == 1 ? file.big_endian(at + 8, 8) : size;
}

// AVI, and its continuations beyond 1 GiB. A size of 0 was never filled in.
uint64_t riff_part(const Bytes& file, uint64_t at) {
  const uint64_t size = file.little_endian(at + 4, 4);
  return !file.has_text(at, "RIFF") || size == 0 || size == UINT32_MAX ? 0 : 8 + size;
}

// Objects of 16 bytes of identity and 8 of size; a stream recorded live leaves the data's at 0.
uint64_t asf_part(const Bytes& file, uint64_t at) {
  constexpr uint64_t kHeader = 24;
  const uint64_t size = file.little_endian(at + 16, 8);
  return size < kHeader ? 0 : size;
}

// A tag of 11 bytes and its data, then its size once more.
uint64_t flv_part(const Bytes& file, uint64_t at) {
  constexpr uint64_t kAudio = 8;
  constexpr uint64_t kVideo = 9;
  constexpr uint64_t kScript = 18;
  const uint64_t type = file.byte(at) & 0x1f;
  if (type != kAudio && type != kVideo && type != kScript) return 0;
  return 11 + file.big_endian(at + 1, 3) + 4;
}

// RFC 3533, section 6: a page's header ends with a table of the sizes of its segments.
uint64_t ogg_part(const Bytes& file, uint64_t at) {
  if (!file.has_text(at, "OggS")) return 0;
  const uint64_t segments = file.byte(at + 26);
  uint64_t size = 27 + segments;
  for (uint64_t i = 0; i < segments; ++i) size += file.byte(at + 27 + i);
  return size;
}

// Chunks of data between length and type, and a checksum. The last is IEND.
uint64_t png_part(const Bytes& file, uint64_t at) {
  return file.has_text(at + 4, "IEND") ? 0 : 12 + file.big_endian(at, 4);
}

uint64_t color_table_bytes(uint64_t flags) {
  return (flags & 0x80U) == 0 ? 0 : uint64_t{3} << ((flags & 7U) + 1);
}

// Blocks of up to 255 bytes, each after its size, up to one of size 0. If that is missing, the end
// lies behind the file's.
uint64_t gif_blocks_end(const Bytes& file, uint64_t at) {
  while (at < file.size() && file.byte(at) != 0) at += 1 + file.byte(at);
  return at + 1;
}

// An extension or an image; the trailer, or anything else, ends the walk.
uint64_t gif_part(const Bytes& file, uint64_t at) {
  constexpr uint64_t kExtension = 0x21;
  constexpr uint64_t kImage = 0x2c;
  if (file.byte(at) == kExtension) return gif_blocks_end(file, at + 2) - at;
  if (file.byte(at) != kImage) return 0;
  const uint64_t data = at + 10 + color_table_bytes(file.byte(at + 9)) + 1;
  return gif_blocks_end(file, data) - at;
}

// What the last part needs, if the file has less.
std::optional<uint64_t> needed_bytes(const Bytes& file, std::string_view container) {
  if (container == "matroska,webm") return walk(file, 0, matroska_part);
  if (container.starts_with("mov,")) return walk(file, 0, mp4_part);
  if (container == "avi") return walk(file, 0, riff_part);
  if (container == "asf") return walk(file, 0, asf_part);
  if (container == "ogg") return walk(file, 0, ogg_part);
  if (container == "apng") return walk(file, 8, png_part);
  if (container == "flv") return walk(file, file.big_endian(5, 4) + 4, flv_part);
  if (container != "gif") return std::nullopt;
  return walk(file, 13 + color_table_bytes(file.byte(10)), gif_part);
}

// Bytes of a last packet of MPEG-TS that is not whole. Recordings that do not begin with a packet
// cannot tell.
struct PartOfPacket {
  uint64_t found = 0;
  uint64_t whole = 0;
};

PartOfPacket last_ts_packet(const Bytes& file) {
  constexpr uint64_t kSync = 0x47;
  constexpr uint64_t kLooked = 8;  // packets
  struct Shape {
    uint64_t packet;
    uint64_t sync;  // where in the packet
  };
  // Plain, with time codes (Blu-ray), with error correction.
  for (const Shape& shape : {Shape{188, 0}, Shape{192, 4}, Shape{204, 0}}) {
    if (file.size() < kLooked * shape.packet) continue;
    bool synchronous = true;
    for (uint64_t i = 0; i < kLooked; ++i) {
      synchronous = synchronous && file.byte(i * shape.packet + shape.sync) == kSync;
    }
    if (synchronous) return {file.size() % shape.packet, shape.packet};
  }
  return {};
}

}  // namespace

std::string find_cut(std::span<const std::byte> file, std::string_view container) {
  const Bytes bytes(file);
  if (container == "mpegts") {
    const PartOfPacket last = last_ts_packet(bytes);
    if (last.found == 0) return "";
    return fmt::format("its last packet has {} of {} bytes", last.found, last.whole);
  }
  const std::optional<uint64_t> needed = needed_bytes(bytes, container);
  if (!needed) return "";
  // How much the rest of a GIF or an Ogg needs is not recorded, only that there is more.
  if (container == "gif" || container == "ogg") {
    return fmt::format("it ends within a part, at byte {}", bytes.size());
  }
  return fmt::format("it goes on to byte {}, the file ends at {}", *needed, bytes.size());
}

}  // namespace zoetrope::media
