// SPDX-License-Identifier: Apache-2.0
// Outputs that appear under their name only when whole.
#pragma once

#include <string>

namespace zoetrope {

// Reserves a temporary path beside `path`, with the same extension. commit() moves it into place;
// without commit() the destructor removes it. Works for files and folders alike.
class PendingOutput {
 public:
  // Throws kIo if the folder of `path` is missing or not writable, or the name too long for it.
  explicit PendingOutput(std::string path);
  ~PendingOutput();
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;

  const std::string& path() const { return path_; }
  // Where to write; nothing exists there yet.
  const std::string& temporary_path() const { return temporary_path_; }
  void commit();
  // For an output that is not whole: as clip.partial.mp4 or, where that exists, clip.partial-2.mp4
  // and so on. Returns that path.
  std::string commit_partial();

 private:
  void move_to(const std::string& path);

  std::string path_;
  std::string temporary_path_;
  bool committed_ = false;
};

}  // namespace zoetrope
