// SPDX-License-Identifier: Apache-2.0
#include "media/scaled_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "media/frame_scaler.h"

namespace zoetrope::media {
namespace {

// `extent` times numerator / denominator, at least 1.
int64_t in_proportion(int64_t extent, int64_t numerator, int64_t denominator) {
  const double scaled = static_cast<double>(extent) * static_cast<double>(numerator) /
                        static_cast<double>(denominator);
  return std::max<int64_t>(1, std::llround(scaled));
}

void say_if_distorted(const FrameSize& from, const FrameSize& to, const std::string& name,
                      const Notice& notice) {
  const FrameSize for_width = {in_proportion(to.width, from.height, from.width), to.width};
  const FrameSize for_height = {to.height, in_proportion(to.height, from.width, from.height)};
  if (!notice || to == for_width || to == for_height) return;
  notice(fmt::format("{}: {}x{} is scaled to {}x{}, another aspect ratio ({}x{} or {}x{} keep it)",
                     name, from.width, from.height, to.width, to.height, for_width.width,
                     for_width.height, for_height.width, for_height.height));
}

class ScaledReader final : public VideoReader {
 public:
  ScaledReader(std::unique_ptr<VideoReader> reader, const FrameSize& size)
      : reader_(std::move(reader)),
        scaler_(reader_->info().format, size_of_frames(reader_->info()), size),
        frame_(static_cast<size_t>(
            frame_bytes(reader_->info().format, size_of_frames(reader_->info())))) {
    info_ = reader_->info();
    info_.height = size.height;
    info_.width = size.width;
    info_.format = scaler_.format();
  }

  int64_t read(int64_t count, void* frames) override {
    auto* to = static_cast<std::byte*>(frames);
    const int64_t bytes = frame_bytes(info_.format, size_of_frames(info_));
    int64_t done = 0;
    while (done < count && reader_->read(1, frame_.data()) == 1) {
      scaler_.scale(frame_.data(), to + done * bytes);
      ++done;
    }
    return done;
  }

 private:
  static FrameSize size_of_frames(const VideoInfo& info) { return {info.height, info.width}; }

  std::unique_ptr<VideoReader> reader_;
  FrameScaler scaler_;
  std::vector<std::byte> frame_;  // of the source
};

}  // namespace

std::unique_ptr<VideoReader> scale_reader(std::unique_ptr<VideoReader> reader,
                                          const FrameSize& size, const std::string& name,
                                          const Notice& notice) {
  const FrameSize found = {reader->info().height, reader->info().width};
  if (found == size) return reader;
  say_if_distorted(found, size, name, notice);
  return std::make_unique<ScaledReader>(std::move(reader), size);
}

}  // namespace zoetrope::media
