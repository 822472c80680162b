// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/zip_directory.h"

#include <unzip.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/fail.h"
#include "base/utf8.h"

namespace zoetrope {
namespace {

constexpr size_t kMaxMembers = 100'000;
constexpr size_t kLocalHeaderSize = 30;  // without name and extra field
constexpr unsigned kEncryptedFlags = 0x0001 | 0x0040 | 0x2000;

// The file as minizip reads it.
struct Reader {
  std::span<const std::byte> bytes;
  size_t position = 0;
  bool ended = false;  // a read went past the end
};

Reader* reader_of(voidpf stream) { return static_cast<Reader*>(stream); }

voidpf open_reader(voidpf opaque, const void* /*name*/, int /*mode*/) { return opaque; }

uLong read_bytes(voidpf /*opaque*/, voidpf stream, void* destination, uLong size) {
  Reader* reader = reader_of(stream);
  const size_t count = std::min<size_t>(size, reader->bytes.size() - reader->position);
  if (count > 0) std::memcpy(destination, reader->bytes.data() + reader->position, count);
  reader->position += count;
  reader->ended |= count < size;
  return count;
}

ZPOS64_T tell(voidpf /*opaque*/, voidpf stream) { return reader_of(stream)->position; }

long seek(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  Reader* reader = reader_of(stream);
  uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = reader->position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = reader->bytes.size();
  uint64_t position = 0;
  if (__builtin_add_overflow(base, offset, &position)) return -1;
  if (position > reader->bytes.size()) return -1;
  reader->position = position;
  return 0;
}

int close_reader(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }

// minizip takes the end of the file for zeros unless it is called an error.
int error_of(voidpf /*opaque*/, voidpf stream) { return reader_of(stream)->ended ? 1 : 0; }

// A member with the bytes it occupies, its own header included.
struct Extent {
  size_t begin = 0;
  size_t end = 0;
  std::string name;
};

class Directory {
 public:
  Directory(std::span<const std::byte> file, const std::string& source)
      : source_(source), reader_{file, 0, false} {
    zlib_filefunc64_def functions = {};
    functions.zopen64_file = open_reader;
    functions.zread_file = read_bytes;
    functions.ztell64_file = tell;
    functions.zseek64_file = seek;
    functions.zclose_file = close_reader;
    functions.zerror_file = error_of;
    functions.opaque = &reader_;
    zip_.reset(unzOpen2_64(source.c_str(), &functions));
    if (!zip_) damaged("no directory at the end, or an empty one");
  }

  std::map<std::string, ZipMember> read() {
    unz_global_info64 info = {};
    if (unzGetGlobalInfo64(zip_.get(), &info) != UNZ_OK) damaged("no directory");
    if (info.number_entry == 0) damaged("no members");
    if (info.number_entry > kMaxMembers) damaged("more than 100000 members");
    int status = unzGoToFirstFile(zip_.get());
    const size_t directory = unzGetOffset64(zip_.get());
    while (status == UNZ_OK) {
      add_member();
      status = unzGoToNextFile(zip_.get());
    }
    if (status != UNZ_END_OF_LIST_OF_FILE) damaged("the directory is cut");
    check_overlap(directory);
    return std::move(members_);
  }

 private:
  struct Close {
    void operator()(void* zip) const { unzClose(zip); }
  };

  [[noreturn]] void damaged(const std::string& what) const {
    fail(ErrorCode::kCheckpoint, "{}: damaged zip archive: {}: get the file again", source_, what);
  }

  void add_member() {
    unz_file_info64 info = {};
    const std::string name = read_name(info);
    if ((info.flag & kEncryptedFlags) != 0) {
      fail(ErrorCode::kCheckpoint, "{}: member {} is encrypted: decrypt the archive first", source_,
           printable(name));
    }
    if (info.compression_method != 0 || info.compressed_size != info.uncompressed_size) {
      fail(ErrorCode::kCheckpoint,
           "{}: member {} is compressed; expected a stored one, as torch.save writes: zip it again "
           "with -0",
           source_, printable(name));
    }
    const size_t size = info.uncompressed_size;
    const size_t offset = open_member(name);
    if (offset > reader_.bytes.size() || size > reader_.bytes.size() - offset) {
      damaged(printable(name) + " lies outside of the file");
    }
    const size_t begin = check_local_name(name, offset);
    extents_.push_back({begin, offset + size, name});
    if (!members_.emplace(name, ZipMember{offset, size}).second) {
      damaged(printable(name) + " stands twice");
    }
  }

  std::string read_name(unz_file_info64& info) {
    const auto get = [&](char* name, size_t size) {
      return unzGetCurrentFileInfo64(zip_.get(), &info, name, size, nullptr, 0, nullptr, 0);
    };
    if (get(nullptr, 0) != UNZ_OK) damaged("the directory is cut");
    std::string name(info.size_filename, '\0');
    if (name.empty() || get(name.data(), name.size()) != UNZ_OK) damaged("a member has no name");
    return name;
  }

  // The position of the content. minizip compares the member's own header with the directory.
  size_t open_member(const std::string& name) {
    int method = 0;
    int level = 0;
    const int raw = 1;
    if (unzOpenCurrentFile2(zip_.get(), &method, &level, raw) != UNZ_OK) {
      damaged(printable(name) + ": its header differs from the directory");
    }
    const size_t offset = unzGetCurrentFileZStreamPos64(zip_.get());
    const int extra = unzGetLocalExtrafield(zip_.get(), nullptr, 0);
    unzCloseCurrentFile(zip_.get());
    if (extra < 0) damaged(printable(name) + ": no extra field");
    local_extra_ = static_cast<size_t>(extra);
    return offset;
  }

  // minizip compares the names' lengths only. Returns where the member's own header starts.
  size_t check_local_name(const std::string& name, size_t offset) const {
    const size_t before = kLocalHeaderSize + name.size() + local_extra_;
    if (offset < before) damaged(printable(name) + ": its header lies outside of the file");
    const size_t begin = offset - before;
    if (std::memcmp(reader_.bytes.data() + begin + kLocalHeaderSize, name.data(), name.size()) !=
        0) {
      damaged(printable(name) + ": its header has another name");
    }
    return begin;
  }

  void check_overlap(size_t directory) {
    std::ranges::sort(extents_, {}, &Extent::begin);
    for (size_t i = 0; i < extents_.size(); ++i) {
      const size_t limit = i + 1 < extents_.size() ? extents_[i + 1].begin : directory;
      if (extents_[i].end > limit) {
        damaged(printable(extents_[i].name) + " overlaps what follows it");
      }
    }
  }

  const std::string& source_;
  Reader reader_;
  std::unique_ptr<void, Close> zip_;
  size_t local_extra_ = 0;  // of the member opened last
  std::vector<Extent> extents_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace

std::map<std::string, ZipMember> read_zip_directory(std::span<const std::byte> file,
                                                    const std::string& source) {
  return Directory(file, source).read();
}

}  // namespace zoetrope
