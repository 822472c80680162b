// SPDX-License-Identifier: Apache-2.0
// Frames at a constant rate, whatever the rate of the stream.
#pragma once

#include <cstdint>

#include "media/ffmpeg/av.h"
#include "media/ffmpeg/decoder.h"
#include "media/ffmpeg/timing.h"

namespace zoetrope::media {

// Output frame k, at k / rate from the first frame on, is the last source frame shown by then. The
// last frame lasts one source frame. A constant stream at its own rate passes unchanged.
class Resampler {
 public:
  Resampler(Decoder& decoder, const Timing& timing, const FrameRate& rate);

  // The next output frame, valid until the next call; null at the end.
  const AVFrame* next();

  // What next() will give in all, if the packets say.
  std::optional<int64_t> frames() const;

  // Source frames given more than once, counting each repeat, and those not given at all.
  int64_t repeated() const { return repeated_; }
  int64_t left_out() const { return left_out_; }

 private:
  // A source frame and its time from the first on, in ticks.
  struct Shown {
    AvPointer<AVFrame> frame;
    int64_t time = 0;
  };

  Shown decode();
  // Compares the time of output frame k with `time`, less half a tick since times are rounded.
  bool reached(int64_t k, int64_t time) const;

  Decoder& decoder_;
  Timing timing_;
  AVRational period_;  // of an output frame, in seconds
  AVRational tick_;
  int64_t frame_ticks_;  // one source frame
  bool unchanged_;
  Shown current_;
  Shown following_;
  int64_t index_ = 0;  // of the next output frame
  int64_t uses_ = 0;   // of current_
  int64_t repeated_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace zoetrope::media
