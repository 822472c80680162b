// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/timing.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <vector>

#include "base/fail.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kLatestTime = int64_t{1} << 50;  // leaves room to calculate
constexpr int64_t kMostFrames = 100'000'000;       // 38 days at 30 frames per second

// Containers that round durations give 2997/125 or 29011/242 for what was 24000/1001 or
// 120000/1001.
FrameRate snap_to_broadcast(const FrameRate& rate) {
  constexpr double kRounding = 1e-5;  // the fractions are 1e-3 from the next whole number
  const double value = static_cast<double>(rate.num) / static_cast<double>(rate.den);
  const int64_t whole = std::llround(value * 1.001);
  const double broadcast = static_cast<double>(whole) / 1.001;
  if (whole == 0 || std::abs(value - broadcast) > kRounding * value) return rate;
  const int64_t divisor = std::gcd(whole * 1000, int64_t{1001});
  return {whole * 1000 / divisor, 1001 / divisor};
}

std::optional<FrameRate> to_frame_rate(AVRational rate) {
  if (rate.num <= 0 || rate.den <= 0 || rate.num / rate.den > 1000) return std::nullopt;
  int num = 0;
  int den = 0;
  av_reduce(&num, &den, rate.num, rate.den, INT32_MAX);
  return snap_to_broadcast({num, den});
}

// The largest distance of frame i of `times` from i / rate, in parts of a frame.
constexpr int64_t kParts = 1024;
int64_t distance_from(const FrameRate& rate, const std::vector<int64_t>& times,
                      AVRational time_base) {
  const AVRational frame = {static_cast<int>(rate.den), static_cast<int>(rate.num)};
  int64_t largest = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t shown = av_rescale_q(kParts * (times[i] - times.front()), time_base, frame);
    const int64_t ideal = kParts * static_cast<int64_t>(i);
    largest = std::max(largest, shown > ideal ? shown - ideal : ideal - shown);
  }
  return largest;
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

Timing find_timing(const PacketInput& input) {
  const std::string& path = input.path();
  const AVStream* stream = input.stream();
  const std::optional<FrameRate> declared = to_frame_rate(stream->avg_frame_rate);
  const std::optional<FrameRate> guessed = to_frame_rate(stream->r_frame_rate);

  Timing timing;
  timing.rate_known = !input.is_image() && (declared || guessed);
  if (timing.rate_known) timing.rate = declared ? *declared : *guessed;
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return timing;

  bool complete = true;
  PacketInput scan(path);
  const std::vector<int64_t> times = read_times(scan, complete);
  timing.frames = static_cast<int64_t>(times.size());
  if (!complete || times.size() < 2 || input.is_image()) return timing;
  timing.first = times.front();
  timing.last = times.back();
  // Within half a frame each has a slot of its own: containers round, Matroska to milliseconds.
  int64_t closest = kParts / 2 + 1;
  for (const std::optional<FrameRate>& rate : {declared, guessed}) {
    const int64_t distance = rate ? distance_from(*rate, times, stream->time_base) : closest;
    if (distance >= closest) continue;
    closest = distance;
    timing.rate = *rate;
  }
  if (closest <= kParts / 2) return timing;
  if (timing.last == timing.first) return timing;
  timing.constant = false;
  timing.rate_known = true;
  if (!declared) timing.rate = average_rate(times, stream->time_base);
  check_span(path, timing, stream->time_base);
  return timing;
}

}  // namespace zoetrope::media
