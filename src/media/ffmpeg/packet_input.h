// SPDX-License-Identifier: Apache-2.0
// The packets of a file's video stream.
#pragma once

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

 private:
  void open_file();
  void find_streams();
  void check_index() const;
  bool is_y4m() const;
  void check_last_frame() const;

  std::string path_;
  AvPointer<AVIOContext> io_;  // outlives format_
  AvPointer<AVFormatContext> format_;
  AVStream* stream_ = nullptr;
  int64_t last_frame_end_ = -1;  // of a y4m stream, in bytes
};

}  // namespace zoetrope::media
