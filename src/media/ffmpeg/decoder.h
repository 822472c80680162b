// SPDX-License-Identifier: Apache-2.0
// The decoded frames of a file's video stream, in the order of showing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "media/ffmpeg/av.h"
#include "media/ffmpeg/packet_input.h"

namespace zoetrope::media {

class Decoder {
 public:
  // A file, or "-" for y4m on standard input. Throws kIo, kUnsupported.
  explicit Decoder(const std::string& path);

  const PacketInput& input() const { return input_; }

  // Null at the end. Throws kIo if the stream is corrupt.
  AvPointer<AVFrame> next();

  // Frames that next() gave.
  int64_t frames() const { return frames_; }

 private:
  void send_packet();
  [[noreturn]] void refuse(const std::string& reason) const;

  PacketInput input_;
  std::unique_ptr<ErrorLog> log_;  // outlives codec_, which points to it
  AvPointer<AVCodecContext> codec_;
  AvPointer<AVPacket> packet_;
  int64_t frames_ = 0;
};

}  // namespace zoetrope::media
