// SPDX-License-Identifier: Apache-2.0
#include "media/planar_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/file_writer.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kFirstCapacity = 64;
constexpr int64_t kMoveBytes = 1 << 20;

}  // namespace

PlanarFile::PlanarFile(const std::string& path, std::string name, const PlanarLayout& layout)
    : path_(path),
      name_(std::move(name)),
      layout_(layout),
      file_(path, std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary),
      capacity_(std::max<int64_t>(layout.frames.value_or(kFirstCapacity), 1)) {
  check();
}

void PlanarFile::check() {
  if (!file_) fail(ErrorCode::kIo, "{}: cannot write: {}", name_, why_not_written(errno));
}

int64_t PlanarFile::offset(int64_t plane, int64_t frame, int64_t capacity) const {
  return layout_.header_bytes + (plane * capacity + frame) * layout_.frame_bytes;
}

// Copies upwards from the first byte, so that a plane may move down by less than its size; planes
// that move up move by at least it.
void PlanarFile::move_plane(int64_t plane, int64_t capacity) {
  std::vector<char> buffer(kMoveBytes);
  const int64_t size = frames_ * layout_.frame_bytes;
  for (int64_t done = 0; done < size; done += kMoveBytes) {
    const std::streamsize bytes = std::min(kMoveBytes, size - done);
    file_.seekg(offset(plane, 0, capacity_) + done);
    file_.read(buffer.data(), bytes);
    file_.seekp(offset(plane, 0, capacity) + done);
    file_.write(buffer.data(), bytes);
    check();
  }
}

void PlanarFile::set_capacity(int64_t capacity) {
  for (int64_t i = 1; i < layout_.planes; ++i) {
    move_plane(capacity > capacity_ ? layout_.planes - i : i, capacity);
  }
  capacity_ = capacity;
}

void PlanarFile::append(int64_t count, const std::vector<const void*>& planes) {
  ZOETROPE_CHECK(static_cast<int64_t>(planes.size()) == layout_.planes, name_);
  while (frames_ + count > capacity_) set_capacity(2 * capacity_);
  for (int64_t plane = 0; plane < layout_.planes; ++plane) {
    file_.seekp(offset(plane, frames_, capacity_));
    file_.write(static_cast<const char*>(planes[static_cast<size_t>(plane)]),
                count * layout_.frame_bytes);
  }
  check();
  frames_ += count;
}

void PlanarFile::finish(const std::string& header) {
  ZOETROPE_CHECK(static_cast<int64_t>(header.size()) == layout_.header_bytes, name_);
  if (frames_ < capacity_) set_capacity(frames_);
  file_.seekp(0);
  file_.write(header.data(), static_cast<std::streamsize>(header.size()));
  file_.close();
  check();
  std::error_code error;
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(offset(layout_.planes, 0, frames_)),
                               error);
  if (error) fail(ErrorCode::kIo, "{}: cannot write: {}", name_, error.message());
}

}  // namespace zoetrope::media
