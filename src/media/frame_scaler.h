// SPDX-License-Identifier: Apache-2.0
// Frames of one size to frames of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/video.h"

namespace zoetrope::media {

// Each axis by itself with a Lanczos kernel of three lobes, as wide as the larger of the two pixels
// so that nothing aliases; at the edges, weights are of the pixels that are there. Works in float
// on the encoded values; the result is rounded to nearest and clamped to the range of the format.
// Floats of a frame that lie outside of it widen that range, so that no value read is changed.
class FrameScaler {
 public:
  // `format`: kTHWC or kTCHW.
  FrameScaler(const VideoFormat& format, const FrameSize& from, const FrameSize& to);

  // uint8 stays; other types become float32.
  const VideoFormat& format() const { return format_; }

  // One frame.
  void scale(const void* from, void* to);

 private:
  // Pixels first .. first + weights.size() and their shares in one pixel of the result.
  struct Taps {
    int64_t first = 0;
    std::vector<float> weights;
  };

  static std::vector<Taps> taps_of(int64_t from, int64_t to);
  void find_bounds(const std::byte* frame);
  void scale_plane(const std::byte* from, std::byte* to);
  const float* source_row(const std::byte* plane, int64_t y);
  void add_rows(const std::byte* plane, const Taps& taps);
  void write_row(std::byte* to);

  DType source_type_;
  VideoFormat format_;
  FrameSize from_;
  FrameSize to_;
  int64_t channels_;  // of a pixel in memory: 3, or 1 where each channel is a plane
  std::vector<Taps> down_;
  std::vector<Taps> across_;
  int64_t kept_rows_ = 0;  // as many as a row of the result is made of
  int64_t next_row_ = 0;   // of the source, not yet in rows_
  float least_ = 0;        // that a value of the result may be
  float largest_ = 0;
  std::vector<float> rows_;  // (kept_rows_, w, channels): source row y is at y % kept_rows_
  std::vector<float> sum_;   // (w, channels)
};

}  // namespace zoetrope::media
