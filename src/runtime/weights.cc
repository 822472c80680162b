// SPDX-License-Identifier: Apache-2.0
#include "runtime/weights.h"

#include <optional>
#include <string_view>

#include "base/fail.h"
#include "base/parse_number.h"
#include "models/wan21.h"

namespace zoetrope {
namespace {

constexpr std::string_view kRandom = "random";

template <typename Number>
Number parse_part(const std::string& weights, std::string_view text) {
  const std::optional<Number> number = parse_number<Number>(text);
  if (!number) {
    fail(ErrorCode::kInvalidArgument, "{}: expected random[:base_dim[:seed]], found \"{}\"",
         weights, text);
  }
  return *number;
}

std::shared_ptr<const Checkpoint> open_random(const std::string& weights) {
  int64_t base_dim = 96;
  uint64_t seed = 0;
  if (weights.size() > kRandom.size()) {
    const std::string_view rest = std::string_view(weights).substr(kRandom.size() + 1);
    const size_t colon = rest.find(':');
    base_dim = parse_part<int64_t>(weights, rest.substr(0, colon));
    if (colon != std::string_view::npos) {
      seed = parse_part<uint64_t>(weights, rest.substr(colon + 1));
    }
  }
  constexpr int64_t kLargest = 1024;
  if (base_dim < 1 || base_dim > kLargest) {
    fail(ErrorCode::kInvalidArgument, "{}: expected a base_dim from 1 to {}, found {}", weights,
         kLargest, base_dim);
  }
  return random_checkpoint(models::wan21_tensors(base_dim), seed, weights);
}

}  // namespace

std::shared_ptr<const Checkpoint> open_weights(const std::string& weights) {
  if (weights == kRandom || weights.starts_with("random:")) return open_random(weights);
  try {
    return open_checkpoint(weights);
  } catch (const Error& error) {
    // A script must be able to tell weights that are not there from an input that is not there.
    if (error.code() == ErrorCode::kIo) fail(ErrorCode::kCheckpoint, "{}", error.what());
    throw;
  }
}

}  // namespace zoetrope
