// SPDX-License-Identifier: Apache-2.0
// The packets of a file's video stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "media/ffmpeg/av.h"

namespace zoetrope::media {

class PacketInput {
 public:
  // `path`, or "-" for y4m on standard input. The file is recognised by content alone, and may not
  // make FFmpeg open others, as playlists do. Throws kIo.
  explicit PacketInput(const std::string& path);

  const std::string& path() const { return path_; }
  AVFormatContext* format() const { return format_.get(); }
  AVStream* stream() const { return stream_; }

  // A still image by its format, which has no frame rate.
  bool is_image() const;

  // The next packet of the stream; false at the end. Throws kIo, also if the file is cut off.
  bool read(AVPacket* packet);

  // "24 of about 48 frames", or "24 frames" if the header promises no more.
  std::string describe_count(int64_t frames) const;

 private:
  void open_file();
  void find_streams();
  bool is_y4m() const;
  int64_t recorded_frames() const;     // 0: the header has no count
  int64_t frames_in_duration() const;  // about; 0: the header has no duration
  std::string find_cut_off() const;
  std::string find_short_index(int64_t size) const;
  std::string find_short_frame() const;
  void check_whole() const;
  [[noreturn]] void refuse(const std::string& damage) const;

  std::string path_;
  std::unique_ptr<ErrorLog> log_;  // outlives format_, which points to it
  AvPointer<AVIOContext> io_;      // outlives format_
  AvPointer<AVFormatContext> format_;
  AVStream* stream_ = nullptr;
  int64_t frames_ = 0;           // read so far, without those that are not shown
  int64_t last_frame_end_ = -1;  // of a y4m stream, in bytes
};

}  // namespace zoetrope::media
