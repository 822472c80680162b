// SPDX-License-Identifier: Apache-2.0
#include "cli/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "base/finite.h"
#include "cli/made_up_input.h"
#include "cli/step_values.h"

namespace zoetrope::cli {
namespace {

constexpr const char* kCopyIn = "copy_in";

// Beyond it the sum of a pixel's squares may be infinite, and a norm gives zeros.
float largest_for_norm(int64_t channels) {
  return std::sqrt(std::numeric_limits<float>::max() / static_cast<float>(channels));
}

// Index of the first value that is NaN or infinite, or else too large for a norm; -1: none.
int64_t first_bad(const std::vector<float>& values, const StepEvent& event, int64_t channels) {
  const int64_t found = find_not_finite(values.data(), std::ssize(values));
  if (found >= 0 || event.op == kCopyIn) return found;
  const float limit = largest_for_norm(channels);
  const auto large =
      std::ranges::find_if(values, [&](float value) { return std::abs(value) > limit; });
  return large == values.end() ? -1 : large - values.begin();
}

std::string kind_of(float value, int64_t channels) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return "infinity";
  return fmt::format("values beyond {:.2g}, too large for norms,", largest_for_norm(channels));
}

bool decodes(const StepEvent& event) { return event.entry.starts_with("decode"); }

// True if the same half of the model makes only finite values of a made-up input: the first step
// and one after it.
bool works_on_made_up_input(const Autoencoder& model, bool decode, StreamOptions options) {
  const ModelInfo& info = model.info();
  const int64_t frames = 1 + info.temporal_stride;
  const int64_t height = options.height / info.spatial_stride;
  const int64_t width = options.width / info.spatial_stride;
  bool finite = true;
  std::vector<float> values;
  options.observer = [&](const StepEvent& event) {
    for (const StepResult& result : event.results) {
      read(result, values);
      finite = finite && first_bad(values, event, result.shape.channels) < 0;
    }
  };
  options.progress = {};
  options.frames_per_step = 1;
  options.memory_limit = 0;
  options.video = {Layout::kTHWC, Range::kSigned, DType::kFloat32};
  options.scale = LatentScale::kNormalized;
  std::vector<float> latents = made_up_latents(info.latent_channels, 2, height, width);
  std::vector<float> video(static_cast<size_t>(frames * options.height * options.width * 3));
  make_up_clip(frames, options.height, options.width, video.data());
  TensorView latents_view;
  latents_view.data = latents.data();
  latents_view.shape = {info.latent_channels, 2, height, width};
  TensorView video_view;
  video_view.data = video.data();
  video_view.shape = {frames, options.height, options.width, info.video_channels};
  if (decode) {
    model.decode(latents_view, video_view, options);
  } else {
    EncodeOutputs outputs;
    outputs.latent = latents_view;
    model.encode(video_view, outputs, options);
  }
  return finite;
}

// "frame 0, row 3, column 4, channel 9"
std::string place_of(const ValueShape& shape, int64_t index) {
  const int64_t pixel = index / shape.channels;
  return fmt::format("frame {}, row {}, column {}, channel {}",
                     pixel / (shape.width * shape.height), pixel / shape.width % shape.height,
                     pixel % shape.width, index % shape.channels);
}

}  // namespace

FiniteCheck::FiniteCheck(const Autoencoder& model, std::string input, StreamOptions stream)
    : model_(model), input_(std::move(input)), stream_(std::move(stream)) {}

void FiniteCheck::operator()(const StepEvent& event) {
  for (const StepResult& result : event.results) {
    read(result, values_);
    const int64_t bad = first_bad(values_, event, result.shape.channels);
    if (bad >= 0) explain(event, result, bad);
    if (event.op != kCopyIn) continue;
    for (const float value : values_) {
      largest_input_ = std::max(largest_input_, std::abs(double{value}));
    }
  }
}

void FiniteCheck::explain(const StepEvent& event, const StepResult& result, int64_t index) const {
  const float value = values_[static_cast<size_t>(index)];
  const std::string kind = kind_of(value, result.shape.channels);
  const char* what = decodes(event) ? "latents" : "video";
  const std::string place = place_of(result.shape, index);
  if (event.op == kCopyIn) {
    fail(ErrorCode::kIo, "{}: the {} hold {} at {} of a step of {}: the input is at fault", input_,
         what, kind, place, event.entry);
  }
  const std::string step = fmt::format("the first step that makes {} is {} of {} ({}), at {}", kind,
                                       result.name, event.entry, event.kernel, place);
  const char* stands = decodes(event) ? "made-up latents" : "a made-up video";
  if (works_on_made_up_input(model_, decodes(event), stream_)) {
    const char* usual = decodes(event) ? "latents as the model takes them seldom exceed 20"
                                       : "a video is within -1 to 1";
    fail(ErrorCode::kIo,
         "{}: {}; on {} these weights make finite values only, so the input is at fault: its "
         "largest value is {:.3g}, {}",
         input_, step, stands, largest_input_, usual);
  }
  fail(ErrorCode::kCheckpoint,
       "{}: {}; on {} it is the same, so the weights are at fault: get the checkpoint again, or "
       "tell its makers",
       input_, step, stands);
}

}  // namespace zoetrope::cli
