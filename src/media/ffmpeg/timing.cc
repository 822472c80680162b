// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/timing.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/fail.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kLatestTime = int64_t{1} << 56;  // leaves room to calculate
constexpr int64_t kMostFrames = 100'000'000;       // 38 days at 30 frames per second

std::optional<FrameRate> to_frame_rate(AVRational rate) {
  if (rate.num <= 0 || rate.den <= 0 || rate.num / rate.den > 1000) return std::nullopt;
  int num = 0;
  int den = 0;
  av_reduce(&num, &den, rate.num, rate.den, INT32_MAX);
  return FrameRate{num, den};
}

// Frame i of `times` is shown within half a frame of i / rate, so that each has a slot of its own:
// containers round timestamps, Matroska to milliseconds.
bool fits(const std::vector<int64_t>& times, AVRational time_base, const FrameRate& rate) {
  const AVRational frame = {static_cast<int>(rate.den), static_cast<int>(rate.num)};
  constexpr int64_t kParts = 16;
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t shown = av_rescale_q(kParts * (times[i] - times.front()), time_base, frame);
    const int64_t distance = shown - kParts * static_cast<int64_t>(i);
    if (distance < -kParts / 2 || distance > kParts / 2) return false;
  }
  return true;
}

std::vector<int64_t> read_times(PacketInput& input, bool& complete) {
  std::vector<int64_t> times;
  const AvPointer<AVPacket> packet = new_packet();
  while (input.read(packet.get())) {
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;  // cut away by an edit list
    const bool sane = packet->pts > -kLatestTime && packet->pts < kLatestTime;
    complete = complete && sane;  // AV_NOPTS_VALUE is not
    times.push_back(packet->pts);
  }
  std::sort(times.begin(), times.end());
  return times;
}

FrameRate average_rate(const std::vector<int64_t>& times, AVRational time_base) {
  const int64_t span = times.back() - times.front();
  int num = 0;
  int den = 1;
  av_reduce(&num, &den, static_cast<int64_t>(times.size() - 1) * time_base.den,
            span * time_base.num, 1'000'000);
  return to_frame_rate({num, den}).value_or(FrameRate{});
}

// A forged timestamp must not become years of repeated frames.
void check_span(const std::string& path, const Timing& timing, AVRational time_base) {
  const AVRational period = av_inv_q(to_rational(timing.rate));
  const int64_t span = av_rescale_q(timing.last - timing.first, time_base, period);
  if (span < 0 || span > kMostFrames) {
    fail(ErrorCode::kIo, "{}: expected timestamps of one video, found {} frames that span {}", path,
         *timing.frames, span);
  }
}

}  // namespace

Timing find_timing(const std::string& path) {
  PacketInput input(path);
  const AVStream* stream = input.stream();
  const std::optional<FrameRate> declared = to_frame_rate(stream->avg_frame_rate);
  const std::optional<FrameRate> guessed = to_frame_rate(stream->r_frame_rate);

  Timing timing;
  timing.rate_known = !input.is_image() && (declared || guessed);
  if (timing.rate_known) timing.rate = declared ? *declared : *guessed;
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return timing;

  bool complete = true;
  const std::vector<int64_t> times = read_times(input, complete);
  timing.frames = static_cast<int64_t>(times.size());
  if (!complete || times.size() < 2 || input.is_image()) return timing;
  timing.first = times.front();
  timing.last = times.back();
  for (const std::optional<FrameRate>& rate : {declared, guessed}) {
    if (!rate || !fits(times, stream->time_base, *rate)) continue;
    timing.rate = *rate;
    return timing;
  }
  if (timing.last == timing.first) return timing;
  timing.constant = false;
  timing.rate_known = true;
  if (!declared) timing.rate = average_rate(times, stream->time_base);
  check_span(path, timing, stream->time_base);
  return timing;
}

}  // namespace zoetrope::media
