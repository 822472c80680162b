// SPDX-License-Identifier: Apache-2.0
// Fields as in PKWARE's APPNOTE, sections 4.3 and 4.5.3. Read here and not with a library because
// libzip does not tell where a stored member lies, so overlaps could not be seen nor tensors be
// mapped, and Debian 12's minizip takes the end of the file for zeros and reads no 64-bit sizes.
#include "checkpoint/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "base/utf8.h"
#include "checkpoint/byte_view.h"

namespace zoetrope {
namespace {

constexpr size_t kMaxMembers = 100'000;
constexpr size_t kLocalHeaderSize = 30;
constexpr size_t kEntrySize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kLocator64Size = 20;
constexpr uint64_t kEncryptedFlags = 0x0001 | 0x0040 | 0x2000;
constexpr uint64_t kSizesFollowFlag = 0x0008;  // the member's own header may leave them 0
constexpr uint64_t kIn64BitField = UINT32_MAX;

using namespace std::string_view_literals;
constexpr std::string_view kLocalHeader = "PK\x03\x04"sv;
constexpr std::string_view kEntry = "PK\x01\x02"sv;
constexpr std::string_view kEnd = "PK\x05\x06"sv;
constexpr std::string_view kEnd64 = "PK\x06\x06"sv;
constexpr std::string_view kLocator64 = "PK\x06\x07"sv;

// Where the directory's entries are.
struct Span {
  uint64_t count = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// One entry of the directory.
struct Entry {
  std::string name;
  uint64_t flags = 0;
  uint64_t method = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // of the member's own header
};

// A member with the bytes it occupies, its own header included.
struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
};

class Directory {
 public:
  Directory(std::span<const std::byte> file, const std::string& source)
      : bytes_(file, "zip archive", source), source_(source) {}

  std::map<std::string, ZipMember> read() {
    const Span span = find_span();
    if (span.count > kMaxMembers) bytes_.damaged("more than 100000 members");
    bytes_.view(span.offset, span.size);
    uint64_t position = span.offset;
    for (uint64_t i = 0; i < span.count; ++i) add_member(read_entry(position));
    if (position != span.offset + span.size) bytes_.damaged("its directory has another size");
    check_overlap(span.offset);
    return std::move(members_);
  }

 private:
  // The end record is the file's last; only a comment of up to 64 KiB may follow in it.
  uint64_t find_end() const {
    if (bytes_.size() < kEndSize) bytes_.damaged("no directory at the end");
    const size_t last = bytes_.size() - kEndSize;
    const size_t first = last - std::min<size_t>(last, UINT16_MAX);
    for (size_t at = last + 1; at-- > first;) {
      if (bytes_.view(at, kEnd.size()) == kEnd && bytes_.number(at + 20, 2) == last - at) return at;
    }
    bytes_.damaged("no directory at the end: the file was cut");
  }

  Span find_span() const {
    const uint64_t end = find_end();
    const Span span = {bytes_.number(end + 10, 2), bytes_.number(end + 16, 4),
                       bytes_.number(end + 12, 4)};
    const bool wide = end >= kLocator64Size &&
                      bytes_.view(end - kLocator64Size, kLocator64Size).starts_with(kLocator64);
    const Span found = wide ? find_span64(bytes_.number(end - kLocator64Size + 8, 8)) : span;
    // Readers differ in which of the two they believe, so they must agree.
    const bool agree = same(span.count, found.count, UINT16_MAX) &&
                       same(span.offset, found.offset, UINT32_MAX) &&
                       same(span.size, found.size, UINT32_MAX);
    if (!agree) bytes_.damaged("it has two directories");
    return found;
  }

  Span find_span64(uint64_t at) const {
    if (!bytes_.view(at, kEnd64Size).starts_with(kEnd64)) bytes_.damaged("no directory at the end");
    return {bytes_.number(at + 32, 8), bytes_.number(at + 48, 8), bytes_.number(at + 40, 8)};
  }

  static bool same(uint64_t narrow, uint64_t wide, uint64_t in_wide) {
    return narrow == wide || narrow == in_wide;
  }

  // Reads the entry at `position` and moves on to the next one.
  Entry read_entry(uint64_t& position) const {
    const uint64_t at = position;
    if (!bytes_.view(at, kEntrySize).starts_with(kEntry)) bytes_.damaged("an entry is missing");
    const uint64_t name_size = bytes_.number(at + 28, 2);
    const uint64_t extra_size = bytes_.number(at + 30, 2);
    Entry entry;
    entry.name = bytes_.view(at + kEntrySize, name_size);
    entry.flags = bytes_.number(at + 8, 2);
    entry.method = bytes_.number(at + 10, 2);
    entry.packed_size = bytes_.number(at + 20, 4);
    entry.size = bytes_.number(at + 24, 4);
    entry.offset = bytes_.number(at + 42, 4);
    read_64_bit_field(at + kEntrySize + name_size, extra_size, entry);
    position = at + kEntrySize + name_size + extra_size + bytes_.number(at + 32, 2);
    return entry;
  }

  // The extra field 1 holds, in this order, the numbers that did not fit 32 bits.
  void read_64_bit_field(uint64_t at, uint64_t size, Entry& entry) const {
    const uint64_t end = at + size;
    while (end - at >= 4) {
      const uint64_t id = bytes_.number(at, 2);
      const uint64_t field_end = at + 4 + bytes_.number(at + 2, 2);
      if (field_end > end) bytes_.damaged(printable(entry.name) + ": an extra field is cut");
      at += 4;
      for (uint64_t* value : {&entry.size, &entry.packed_size, &entry.offset}) {
        if (id != 1 || *value != kIn64BitField || field_end - at < 8) continue;
        *value = bytes_.number(at, 8);
        at += 8;
      }
      at = field_end;
    }
  }

  void add_member(const Entry& entry) {
    if ((entry.flags & kEncryptedFlags) != 0) {
      fail(ErrorCode::kCheckpoint, "{}: member {} is encrypted: decrypt the archive first", source_,
           printable(entry.name));
    }
    if (entry.method != 0 || entry.packed_size != entry.size) {
      fail(ErrorCode::kCheckpoint,
           "{}: member {} is compressed; expected a stored one, as torch.save writes: zip it again "
           "with -0",
           source_, printable(entry.name));
    }
    const uint64_t offset = entry.offset + check_local_header(entry);
    if (offset > bytes_.size() || entry.size > bytes_.size() - offset) {
      bytes_.damaged(printable(entry.name) + " lies outside of the file");
    }
    extents_.push_back({entry.offset, offset + entry.size, entry.name});
    if (!members_.emplace(entry.name, ZipMember{offset, entry.size}).second) {
      bytes_.damaged(printable(entry.name) + " stands twice");
    }
  }

  // Compares the member's own header with the directory and returns the header's size.
  uint64_t check_local_header(const Entry& entry) const {
    const uint64_t at = entry.offset;
    const uint64_t name_size = bytes_.view(at, kLocalHeaderSize).starts_with(kLocalHeader)
                                   ? bytes_.number(at + 26, 2)
                                   : UINT64_MAX;
    const bool agree = name_size == entry.name.size() &&
                       bytes_.view(at + kLocalHeaderSize, name_size) == entry.name &&
                       bytes_.number(at + 6, 2) == entry.flags &&
                       bytes_.number(at + 8, 2) == entry.method &&
                       size_agrees(bytes_.number(at + 18, 4), entry) &&
                       size_agrees(bytes_.number(at + 22, 4), entry);
    if (!agree) bytes_.damaged(printable(entry.name) + ": its header differs from the directory");
    return kLocalHeaderSize + name_size + bytes_.number(at + 28, 2);
  }

  static bool size_agrees(uint64_t local, const Entry& entry) {
    const bool follows = (entry.flags & kSizesFollowFlag) != 0 && local == 0;
    return follows || same(local, entry.size, kIn64BitField);
  }

  void check_overlap(uint64_t directory) {
    std::ranges::sort(extents_, {}, &Extent::begin);
    for (size_t i = 0; i < extents_.size(); ++i) {
      const uint64_t limit = i + 1 < extents_.size() ? extents_[i + 1].begin : directory;
      if (extents_[i].end > limit) {
        bytes_.damaged(printable(extents_[i].name) + " overlaps what follows it");
      }
    }
  }

  ByteView bytes_;
  const std::string& source_;
  std::vector<Extent> extents_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace

std::map<std::string, ZipMember> read_zip_directory(std::span<const std::byte> file,
                                                    const std::string& source) {
  return Directory(file, source).read();
}

}  // namespace zoetrope
