// SPDX-License-Identifier: Apache-2.0
// A file of planes, each a sequence of frames, whose number may be known only at the end.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace zoetrope::media {

// What every use of the file has in common.
struct PlanarLayout {
  int64_t header_bytes = 0;
  int64_t planes = 0;
  int64_t frame_bytes = 0;        // of one plane
  std::optional<int64_t> frames;  // if known
};

// Holds the bytes [planes, frames, frame_bytes] after a header. Planes are kept `capacity` frames
// apart; it doubles when they are full, and finish() closes the gaps.
class PlanarFile {
 public:
  // Creates `path`; messages call it `name`. Throws kIo.
  PlanarFile(const std::string& path, std::string name, const PlanarLayout& layout);

  // Adds `count` frames to every plane; planes[i] holds count * frame_bytes bytes.
  void append(int64_t count, const std::vector<const void*>& planes);

  int64_t frames() const { return frames_; }

  // `header` is layout.header_bytes long.
  void finish(const std::string& header);

 private:
  int64_t offset(int64_t plane, int64_t frame, int64_t capacity) const;
  void move_plane(int64_t plane, int64_t capacity);
  void set_capacity(int64_t capacity);
  void check();

  std::string path_;
  std::string name_;
  PlanarLayout layout_;
  std::fstream file_;
  int64_t capacity_ = 0;
  int64_t frames_ = 0;
};

}  // namespace zoetrope::media
