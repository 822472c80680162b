// SPDX-License-Identifier: Apache-2.0
#include "media/frame_rate.h"

#include <array>
#include <numeric>
#include <optional>

#include "base/fail.h"
#include "base/parse_number.h"

namespace zoetrope::media {
namespace {

// Both parts must fit the 32-bit fractions of container formats.
constexpr int64_t kLargestPart = 1'000'000'000;

std::optional<int64_t> parse_part(std::string_view text) {
  const std::optional<int64_t> value = parse_number<int64_t>(text);
  const bool valid = value && *value >= 0 && *value <= kLargestPart && text.front() != '-';
  return valid ? value : std::nullopt;
}

// Decimals that people write for the rates of NTSC broadcasting.
std::optional<FrameRate> parse_broadcast_rate(std::string_view text) {
  struct Rate {
    std::string_view text;
    FrameRate rate;
  };
  static constexpr std::array kRates = {
      Rate{"23.976", {24000, 1001}}, Rate{"23.98", {24000, 1001}}, Rate{"29.97", {30000, 1001}},
      Rate{"47.952", {48000, 1001}}, Rate{"59.94", {60000, 1001}}, Rate{"119.88", {120000, 1001}},
  };
  for (const Rate& rate : kRates) {
    if (rate.text == text) return rate.rate;
  }
  return std::nullopt;
}

std::optional<FrameRate> parse_decimal(std::string_view text, size_t point) {
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.empty() || fraction.size() > 6) return std::nullopt;
  const std::optional<int64_t> digits =
      parse_part(std::string(text.substr(0, point)) + std::string(fraction));
  if (!digits) return std::nullopt;
  int64_t den = 1;
  for (size_t i = 0; i < fraction.size(); ++i) den *= 10;
  return FrameRate{*digits, den};
}

std::optional<FrameRate> parse(std::string_view text) {
  if (const std::optional<FrameRate> rate = parse_broadcast_rate(text)) return rate;
  if (const size_t point = text.find('.'); point != std::string_view::npos) {
    return parse_decimal(text, point);
  }
  const size_t slash = text.find('/');
  const bool whole = slash == std::string_view::npos;
  const std::optional<int64_t> num = parse_part(text.substr(0, slash));
  const std::optional<int64_t> den = whole ? 1 : parse_part(text.substr(slash + 1));
  if (!num || !den) return std::nullopt;
  return FrameRate{*num, *den};
}

}  // namespace

FrameRate parse_frame_rate(std::string_view text) {
  const std::optional<FrameRate> rate = parse(text);
  if (!rate || rate->num <= 0 || rate->den <= 0 || rate->num / rate->den > 1000) {
    fail(ErrorCode::kInvalidArgument,
         "frame rate \"{}\": expected a number such as 24, 23.976 or 24000/1001, at most 1000",
         text);
  }
  const int64_t divisor = std::gcd(rate->num, rate->den);
  return {rate->num / divisor, rate->den / divisor};
}

std::string to_string(const FrameRate& rate) {
  return rate.den == 1 ? fmt::format("{}", rate.num) : fmt::format("{}/{}", rate.num, rate.den);
}

}  // namespace zoetrope::media
