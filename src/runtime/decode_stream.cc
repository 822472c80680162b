// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "runtime/boundary.h"
#include "runtime/edge_view.h"
#include "runtime/stream_implementation.h"

namespace zoetrope {

DecodeStream::Implementation::Implementation(
    const std::shared_ptr<const Autoencoder::Implementation>& model, const StreamOptions& options)
    : core(model, *model->decode, options, 0) {
  check_video_format(options.video);
}

int64_t DecodeStream::Implementation::ready(int64_t latents) const {
  if (latents <= 0) return 0;
  const int64_t stride = core.info().temporal_stride;
  return core.at_start() ? 1 + (latents - 1) * stride : latents * stride;
}

void DecodeStream::Implementation::load_latents(const TensorView& latents, int64_t begin,
                                                const TensorView& value) const {
  EdgeCopy edge = {
      .from = slice_frames(latents, begin, value.shape[0]), .to = value, .scale = {}, .offset = {}};
  if (core.options().scale == LatentScale::kNormalized) {
    edge.scale = core.info().latents_std;
    edge.offset = core.info().latents_mean;
  }
  core.queue().copy_edge(edge, core.control());
}

void DecodeStream::Implementation::store_frames(const TensorView& value, const TensorView& video,
                                                int64_t begin) const {
  const int64_t done = core.frames_done();
  const int64_t first_frame = done == 0 ? 0 : 1 + (done - 1) * core.info().temporal_stride;
  core.queue().copy_edge({.from = value,
                          .to = slice_frames(video, begin, value.shape[0]),
                          .from_range = Range::kSigned,
                          .to_range = core.options().video.range,
                          .scale = {},
                          .offset = {},
                          .clamp = core.options().clamp,
                          .tally = core.tally(),
                          .first_frame = first_frame},
                         core.control());
}

void DecodeStream::Implementation::push(const TensorView& latents, const TensorView& video) {
  const StreamOptions& options = core.options();
  const ModelInfo& info = core.info();
  const TensorView from = latent_view("latents", latents, -1, options.height / info.spatial_stride,
                                      options.width / info.spatial_stride, info.latent_channels);
  const int64_t count = from.shape[0];
  if (count == 0) return;
  const TensorView to = video_view(video, options.video, ready(count), options.height,
                                   options.width, info.video_channels);
  const int64_t later = count - (core.at_start() ? 1 : 0);
  StreamCore::Push run =
      core.begin_push(count - later, (later + core.frames_per_step() - 1) / core.frames_per_step());
  int64_t frame = 0;
  for (int64_t position = 0; position < count;) {
    const int64_t n = core.at_start() ? 1 : std::min(core.frames_per_step(), count - position);
    core.step(
        n, [&](const TensorView& input) { load_latents(from, position, input); },
        [&](const TensorView& output) {
          store_frames(output, to, frame);
          frame += output.shape[0];
        });
    position += n;
  }
  run.finish();
}

void DecodeStream::Implementation::push_images(const TensorView& latents, const TensorView& video) {
  const int64_t count = latents.shape[0];
  const int64_t most = core.images_per_step();
  StreamCore::Push run = core.begin_push((count + most - 1) / most, 0);
  for (int64_t i = 0; i < count; i += most) {
    core.images(
        std::min(most, count - i),
        [&](const TensorView& input) { load_latents(latents, i, input); },
        [&](const TensorView& output) { store_frames(output, video, i); });
  }
  run.finish();
}

DecodeStream::DecodeStream(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

int64_t DecodeStream::frames_per_step() const { return implementation_->core.frames_per_step(); }

int64_t DecodeStream::ready(int64_t latents) const { return implementation_->ready(latents); }

void DecodeStream::push(const TensorView& latents, const TensorView& video) {
  at_boundary([&] { implementation_->push(latents, video); });
}

NotFinite DecodeStream::not_finite() const {
  return at_boundary([&] { return implementation_->core.not_finite(); });
}

int64_t DecodeStream::finish() {
  reset();
  return 0;
}

void DecodeStream::reset() { implementation_->core.reset(); }

DecodeStream DecodeStream::clone() const {
  return at_boundary(
      [&] { return DecodeStream(std::make_unique<Implementation>(*implementation_)); });
}

std::vector<NamedTensor> DecodeStream::state() const {
  return at_boundary([&] {
    std::vector<NamedTensor> state;
    implementation_->core.save(state);
    return state;
  });
}

void DecodeStream::restore(const std::vector<NamedTensor>& state) {
  at_boundary([&] { implementation_->core.load(by_name(state)); });
}

}  // namespace zoetrope
