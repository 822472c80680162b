// SPDX-License-Identifier: Apache-2.0
// Outputs that appear under their name only when whole.
#pragma once

#include <string>

namespace zoetrope {

// Reserves a temporary path beside `path`, with the same extension. commit() moves it into place;
// without commit() the destructor removes it. Works for files and folders alike.
class PendingOutput {
 public:
  // Throws kIo if the folder of `path` is missing or not writable.
  explicit PendingOutput(std::string path);
  ~PendingOutput();
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;

  const std::string& path() const { return path_; }
  // Where to write; nothing exists there yet.
  const std::string& temporary_path() const { return temporary_path_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_path_;
  bool committed_ = false;
};

}  // namespace zoetrope
