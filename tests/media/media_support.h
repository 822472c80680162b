// SPDX-License-Identifier: Apache-2.0
// What tests of media share: a scratch folder, whole clips, and media made by the ffmpeg command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/video.h"
#include "zoetrope/error.h"

namespace zoetrope::media {

// A folder of its own, removed in the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Names of everything in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

void write_bytes(const std::string& path, const void* data, size_t size);
void write_bytes(const std::string& path, const std::string& bytes);
std::string read_bytes(const std::string& path);

// Runs the ffmpeg command; throws if it fails.
void run_ffmpeg(const std::string& arguments);

// A whole clip, one element of the format's type for each value.
struct Clip {
  VideoInfo info;
  int64_t frames = 0;
  std::vector<uint8_t> bytes;  // of uint8 formats
  std::vector<float> values;   // of float32 formats
  std::vector<std::string> notices;

  // One notice contains `text`.
  bool said(const std::string& text) const;
};

// Reads `path` in blocks of `block` frames.
Clip read_clip(const std::string& path, ReadOptions options = {}, int64_t block = 3);

// Writes uint8 (t, h, w, 3).
void write_clip(const std::string& path, const WriteOptions& options,
                const std::vector<uint8_t>& frames);

// What `call` throws, or an error of code kInternal saying that nothing was thrown.
template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "nothing was thrown");
}

// A pattern of `count` bytes that repeats late and holds every value.
std::vector<uint8_t> noise(size_t count);

}  // namespace zoetrope::media
