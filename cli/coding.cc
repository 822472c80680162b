// SPDX-License-Identifier: Apache-2.0
#include "cli/coding.h"

#include <utility>

#include "base/fail.h"

namespace zoetrope::cli {
namespace {

StreamOptions sized(StreamOptions options, const VideoFormat& format, int64_t height,
                    int64_t width) {
  options.video = format;
  options.height = height;
  options.width = width;
  return options;
}

TensorView view_of(const media::Frames& frames) {
  TensorView view;
  view.data = const_cast<void*>(frames.data);  // inputs are never written through
  view.dtype = frames.format.dtype;
  view.shape = frames.format.layout == Layout::kTHWC
                   ? std::vector<int64_t>{frames.count, frames.height, frames.width, 3}
                   : std::vector<int64_t>{frames.count, 3, frames.height, frames.width};
  return view;
}

TensorView view_of(std::vector<float>& values, const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  values.resize(count);
  TensorView view;
  view.data = values.data();
  view.shape = shape;
  return view;
}

}  // namespace

Encoding::Encoding(const Autoencoder& model, const Settings& settings, Sink sink)
    : info_(model.info()),
      settings_(settings),
      stream_(model.open_encode(
          sized(settings.stream, settings.format, settings.fitted.height, settings.fitted.width))),
      sink_(std::move(sink)) {}

void Encoding::push(const media::Frames& frames) {
  const media::Frames fitted = fit_frames(frames, settings_.fitted, fitted_frames_);
  frames_ += frames.count;
  const bool enough = fitted.count >= info_.temporal_stride * stream_.frames_per_step();
  if (enough && gathered_frames_ == 0) {
    encode(fitted);
  } else {
    gather(fitted);
  }
  const int64_t bytes = media::frame_bytes(fitted.format, fitted.height, fitted.width);
  const auto* data = static_cast<const std::byte*>(fitted.data);
  last_frame_.assign(data + (fitted.count - 1) * bytes, data + fitted.count * bytes);
}

void Encoding::gather(const media::Frames& frames) {
  const int64_t bytes =
      frames.count * media::frame_bytes(frames.format, frames.height, frames.width);
  const auto* data = static_cast<const std::byte*>(frames.data);
  gathered_.insert(gathered_.end(), data, data + bytes);
  gathered_frames_ += frames.count;
  if (gathered_frames_ >= info_.temporal_stride * stream_.frames_per_step()) encode_gathered();
}

void Encoding::encode_gathered() {
  if (gathered_frames_ == 0) return;
  const FittedSize& fitted = settings_.fitted;
  encode({settings_.format, gathered_frames_, fitted.height, fitted.width, gathered_.data()});
  gathered_.clear();
  gathered_frames_ = 0;
}

void Encoding::encode(const media::Frames& frames) {
  const int64_t count = stream_.ready(frames.count);
  const std::vector<int64_t> shape = {info_.latent_channels, count,
                                      settings_.fitted.height / info_.spatial_stride,
                                      settings_.fitted.width / info_.spatial_stride};
  EncodeOutputs outputs;
  outputs.latent = view_of(latent_, shape);
  if (settings_.posterior) {
    outputs.mean = view_of(mean_, shape);
    outputs.logvar = view_of(logvar_, shape);
  }
  stream_.push(view_of(frames), outputs);
  if (count == 0) return;
  latent_frames_ += count;
  sink_({count, latent_.data(), settings_.posterior ? mean_.data() : nullptr,
         settings_.posterior ? logvar_.data() : nullptr});
}

int64_t Encoding::finish() {
  encode_gathered();
  const int64_t missing = frames_ > 0 ? missing_frames(frames_, info_.temporal_stride) : 0;
  const FittedSize& fitted = settings_.fitted;
  if (settings_.fit_frames == FitFrames::kPad) {
    for (int64_t i = 0; i < missing; ++i) {
      encode({settings_.format, 1, fitted.height, fitted.width, last_frame_.data()});
    }
  }
  not_finite_ = stream_.not_finite();  // before it is forgotten
  return frames_ - stream_.finish();
}

Decoding::Decoding(const Autoencoder& model, const Settings& settings, Sink sink)
    : info_(model.info()),
      settings_(settings),
      stream_(model.open_decode(sized(settings.stream, settings.format,
                                      settings.latent_height * info_.spatial_stride,
                                      settings.latent_width * info_.spatial_stride))),
      sink_(std::move(sink)) {}

void Decoding::push(int64_t count, const float* latent) {
  media::Frames frames;
  frames.format = settings_.format;
  frames.count = stream_.ready(count);
  frames.height = settings_.latent_height * info_.spatial_stride;
  frames.width = settings_.latent_width * info_.spatial_stride;
  video_.resize(static_cast<size_t>(
      frames.count * media::frame_bytes(frames.format, frames.height, frames.width)));
  frames.data = video_.data();

  TensorView input;
  input.data = const_cast<float*>(latent);  // inputs are never written through
  input.shape = {info_.latent_channels, count, settings_.latent_height, settings_.latent_width};
  stream_.push(input, view_of(frames));
  sink_(crop_frames(frames, {0, 0, settings_.height, settings_.width}, cropped_));
}

NotFinite Decoding::not_finite(int64_t kept) const {
  const NotFinite all = stream_.not_finite();
  return all.first_frame < kept ? all : NotFinite{};
}

}  // namespace zoetrope::cli
