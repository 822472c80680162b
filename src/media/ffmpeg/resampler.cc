// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/resampler.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <utility>

namespace zoetrope::media {
namespace {

// Of a frame of a constant stream.
constexpr int64_t kTicksPerFrame = 64;

AVRational tick_of(const Timing& timing, const AVStream& stream) {
  if (!timing.constant) return stream.time_base;
  AVRational tick = {};
  av_reduce(&tick.num, &tick.den, timing.rate.den, timing.rate.num * kTicksPerFrame, INT32_MAX);
  return tick;
}

AVRational period_of(const FrameRate& rate) { return av_inv_q(to_rational(rate)); }

}  // namespace

Resampler::Resampler(Decoder& decoder, const Timing& timing, const FrameRate& rate)
    : decoder_(decoder),
      timing_(timing),
      period_(period_of(rate)),
      tick_(tick_of(timing, *decoder.input().stream())),
      frame_ticks_(timing.constant ? kTicksPerFrame
                                   : av_rescale_q(1, period_of(timing.rate), tick_)),
      unchanged_(timing.constant && rate == timing.rate) {
  following_ = decode();
}

Resampler::Shown Resampler::decode() {
  const int64_t index = decoder_.frames();
  Shown shown = {decoder_.next(), index * kTicksPerFrame};
  if (!shown.frame || timing_.constant) return shown;
  const int64_t time = shown.frame->best_effort_timestamp;
  // The packets' timestamps were all there; a decoder that loses one continues at the rate.
  const bool known = time >= timing_.first && time <= timing_.last;
  shown.time = known ? time - timing_.first : following_.time + frame_ticks_;
  return shown;
}

bool Resampler::reached(int64_t k, int64_t time) const {
  return av_compare_ts(2 * time - 1, tick_, 2 * k, period_) < 0;
}

const AVFrame* Resampler::next() {
  if (unchanged_) {
    current_ = following_.frame ? std::exchange(following_, {}) : decode();
    return current_.frame.get();
  }
  while (following_.frame && reached(index_, following_.time)) {
    if (current_.frame && uses_ == 0) ++left_out_;
    current_ = std::exchange(following_, decode());
    uses_ = 0;
  }
  if (!current_.frame) return nullptr;
  if (!following_.frame && reached(index_, current_.time + frame_ticks_)) {
    if (uses_++ == 0) ++left_out_;
    return nullptr;
  }
  if (uses_++ > 0) ++repeated_;
  ++index_;
  return current_.frame.get();
}

std::optional<int64_t> Resampler::frames() const {
  if (!timing_.frames || unchanged_) return timing_.frames;
  const int64_t end = timing_.constant ? *timing_.frames * kTicksPerFrame
                                       : timing_.last - timing_.first + frame_ticks_;
  int64_t count = av_rescale_q(end, tick_, period_);
  while (count > 0 && reached(count - 1, end)) --count;
  while (!reached(count, end)) ++count;
  return count;
}

}  // namespace zoetrope::media
