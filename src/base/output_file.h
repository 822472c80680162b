// SPDX-License-Identifier: Apache-2.0
// Outputs that appear under their name only when whole.
#pragma once

#include <string>

#include "zoetrope/error.h"

namespace zoetrope {

// Throws kIo if `path` exists and is neither a file nor a folder, nor a link to one: a device or a
// pipe, which a new file would take the place of.
void check_replaceable(const std::string& path);

// Reserves a temporary path beside `path`, with the same extension. commit() moves it into place;
// without commit() the destructor removes it. Works for files and folders alike. A symbolic link
// stays: what it points to is replaced.
class PendingOutput {
 public:
  // Throws kIo if the folder of `path` is missing or not writable, the name too long for it, or
  // what is there cannot be replaced.
  explicit PendingOutput(std::string path);
  ~PendingOutput();
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;

  const std::string& path() const { return path_; }
  // Where to write; nothing exists there yet.
  const std::string& temporary_path() const { return temporary_path_; }
  void commit();
  // What went wrong with the temporary path, as an error of the output: people never named the
  // former.
  Error in_its_name(const Error& error) const;
  // For an output that is not whole: as clip.partial.mp4 or, where that exists, clip.partial-2.mp4
  // and so on. Returns that path.
  std::string commit_partial();

 private:
  void move_to(const std::string& path);

  std::string path_;
  std::string target_;  // what `path_` points to; itself if it is no link
  std::string temporary_path_;
  bool committed_ = false;
};

}  // namespace zoetrope
