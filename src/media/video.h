// SPDX-License-Identifier: Apache-2.0
// Videos as streams of RGB frames: files, image folders, arrays, y4m pipes.
//
// Frames are time-major everywhere in media: a block of n frames is contiguous memory, [n, H, W, 3]
// (kTHWC) or [n, 3, H, W] (kTCHW), never kCTHW, so that a block may be cut between frames. Files
// that hold [3, T, H, W] are read and written through kTCHW.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "media/frame_rate.h"
#include "zoetrope/video_format.h"

namespace zoetrope::media {

// Receives one line, without a newline, for each thing that was assumed, changed or left out.
using Notice = std::function<void(const std::string&)>;

// A block of contiguous frames that someone else owns.
struct Frames {
  VideoFormat format;
  int64_t count = 0;
  int64_t height = 0;
  int64_t width = 0;
  const void* data = nullptr;
};

struct FrameSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const FrameSize&) const = default;
};

// Larger frames are refused before memory is taken for them.
inline constexpr int64_t kLargestSide = 16384;

// "WxH", each from 1 to kLargestSide. Throws kInvalidArgument.
FrameSize parse_frame_size(std::string_view text);

int64_t frame_bytes(const VideoFormat& format, int64_t height, int64_t width);
inline int64_t frame_bytes(const VideoFormat& format, const FrameSize& size) {
  return frame_bytes(format, size.height, size.width);
}

enum class Matrix : uint8_t { kBt601, kBt709 };

// "bt601", "bt709". Throws kInvalidArgument.
Matrix parse_matrix(std::string_view text);

// What to do with transparency. An alpha channel that is opaque everywhere needs no decision.
enum class AlphaPolicy : uint8_t {
  kRefuse,
  kDrop,   // the colours as stored, whatever the alpha
  kBlack,  // blended over black, in the encoded values
  kWhite,
};

// "drop", "black", "white". Throws kInvalidArgument.
AlphaPolicy parse_alpha_policy(std::string_view text);

// "thwc", "tchw", "cthw". Throws kInvalidArgument.
Layout parse_layout(std::string_view text);

// "signed", "unit", "bytes". Throws kInvalidArgument.
Range parse_range(std::string_view text);

// Half open, counted in the frames that a reader gives.
struct FrameRange {
  int64_t begin = 0;
  std::optional<int64_t> end;  // empty: to the last frame
};

// "A:B", "A:", ":B" with 0 <= A < B. Throws kInvalidArgument.
FrameRange parse_frame_range(std::string_view text);

// Says so if a video of `frames` frames ends before the range does. `name` is for messages.
void say_if_short(const std::string& name, const FrameRange& range, int64_t frames,
                  const Notice& notice);

struct VideoInfo {
  int64_t height = 0;  // as shown, after rotation
  int64_t width = 0;
  // Frames that read() will give, after fps and range. Exact for arrays, images and folders, else
  // what the packets of the file promise.
  std::optional<int64_t> frames;
  bool frames_exact = false;
  FrameRate rate;           // of the frames that read() gives
  bool rate_known = false;  // false: the source has none, and `rate` is the default
  VideoFormat format;       // of the frames that read() gives
  std::string color;        // what the source's colours were taken for: "bt709 limited", "rgb"
};

// Frames are decoded as they are read; memory does not grow with the clip.
class VideoReader {
 public:
  virtual ~VideoReader() = default;
  const VideoInfo& info() const { return info_; }

  // Writes up to `count` frames to `frames`, which holds count * frame_bytes(...) bytes, and
  // returns their number: less than `count` only at the end, then 0. Throws kIo, kUnsupported.
  virtual int64_t read(int64_t count, void* frames) = 0;

 protected:
  VideoInfo info_;
};

struct ReadOptions {
  std::optional<FrameRate> rate;  // resample to it, by time; arrays and images: relabel
  std::optional<Matrix> matrix;   // overrides the tags of YUV sources
  AlphaPolicy alpha = AlphaPolicy::kRefuse;
  FrameRange range;
  std::optional<FrameSize> size;       // scale to it; see frame_scaler.h
  std::optional<Layout> array_layout;  // of .npy and .safetensors sources
  std::optional<Range> array_range;
  // Takes whatever values an array has, floats for -1 to 1 unless array_range says otherwise; else
  // NaN, infinity and floats that may be 0 to 1 are refused when it is opened.
  bool array_any_value = false;
  Notice notice;  // may be empty
};

// `input`: a video or image file, a folder of images, a .npy or .safetensors array, or "-" for y4m
// on standard input; recognised by content. Throws kIo, kInvalidArgument, kUnsupported.
std::unique_ptr<VideoReader> open_video_reader(const std::string& input,
                                               const ReadOptions& options);

// Destroyed without finish(), it leaves nothing behind (standard output keeps what was written).
class VideoWriter {
 public:
  virtual ~VideoWriter() = default;

  // What write() takes: uint8 kTHWC for videos and images, float32 kSigned kTCHW for arrays.
  const VideoFormat& format() const { return format_; }

  // Takes `count` frames in format().
  virtual void write(int64_t count, const void* frames) = 0;

  // Completes the output and moves it into place. Fewer frames than promised are fine.
  virtual void finish() = 0;

  // After an error: completes what was written and moves it beside the place, under a name that is
  // free, which it returns (PendingOutput::commit_partial). Not for standard output.
  virtual std::string finish_partial() = 0;

  // Frames written whole.
  int64_t frames() const { return frames_; }

 protected:
  VideoFormat format_;
  int64_t frames_ = 0;
};

struct WriteOptions {
  int64_t height = 0;
  int64_t width = 0;
  FrameRate rate;
  std::optional<int64_t> frames;  // if known
  Notice notice;                  // may be empty
};

// `output`: .mp4 (H.264, BT.709), .mkv (lossless FFV1 in RGB), .y4m or "-", .png for one frame, a
// folder for frame_000001.png and so on, .npy or .safetensors (`video`, float32 [3, T, H, W]).
// An existing output is replaced at finish(). Throws kInvalidArgument for any other name, kIo,
// kUnsupported.
std::unique_ptr<VideoWriter> open_video_writer(const std::string& output,
                                               const WriteOptions& options);

}  // namespace zoetrope::media
