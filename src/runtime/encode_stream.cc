// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/boundary.h"
#include "runtime/edge_view.h"
#include "runtime/stream_implementation.h"

namespace zoetrope {
namespace {

constexpr const char* kPending = "pending_frames";

// Scale and offset per channel that bring a raw mean to the wanted scale.
struct LatentAffine {
  LatentAffine(const ModelInfo& info, LatentScale wanted) {
    if (wanted == LatentScale::kRaw) return;
    for (size_t c = 0; c < info.latents_std.size(); ++c) {
      scale.push_back(1 / info.latents_std[c]);
      offset.push_back(-info.latents_mean[c] / info.latents_std[c]);
    }
  }
  std::vector<float> scale;
  std::vector<float> offset;
};

}  // namespace

EncodeStream::Implementation::Implementation(
    const std::shared_ptr<const Autoencoder::Implementation>& model, const StreamOptions& options)
    : core(model, *model->encode, options, model->info.temporal_stride - 1) {
  check_video_format(options.video);
}

int64_t EncodeStream::Implementation::ready(int64_t frames) const {
  if (frames <= 0) return 0;
  const int64_t stride = core.info().temporal_stride;
  return core.at_start() ? 1 + (frames - 1) / stride : (pending + frames) / stride;
}

EncodeViews EncodeStream::Implementation::output_views(const EncodeOutputs& outputs,
                                                       int64_t frames) const {
  const ModelInfo& info = core.info();
  const auto view = [&](const char* what, const TensorView& output) -> TensorView {
    if (output.data == nullptr) return {};
    return latent_view(what, output, frames, core.options().height / info.spatial_stride,
                       core.options().width / info.spatial_stride, info.latent_channels);
  };
  return {.latent = view("latent", outputs.latent),
          .mean = view("mean", outputs.mean),
          .logvar = view("logvar", outputs.logvar)};
}

void EncodeStream::Implementation::load_frames(const TensorView& frames, int64_t begin,
                                               int64_t count, std::byte* to) const {
  TensorView value = {.data = to,
                      .dtype = core.input_type(),
                      .device = core.device(),
                      .shape = frames.shape,
                      .strides = {}};
  value.shape[0] = count;
  core.queue().copy_edge({.from = slice_frames(frames, begin, count),
                          .to = value,
                          .from_range = core.options().video.range,
                          .to_range = Range::kSigned,
                          .scale = {},
                          .offset = {}},
                         core.control());
}

void EncodeStream::Implementation::store_outputs(const TensorView& value,
                                                 const EncodeViews& outputs, int64_t begin) const {
  const int64_t channels = core.info().latent_channels;
  const LatentAffine affine(core.info(), core.options().scale);
  const auto store = [&](const TensorView& to, int64_t first_channel, const LatentAffine* scaled) {
    if (to.data == nullptr) return;
    EdgeCopy edge = {.from = slice_channels(value, first_channel, channels),
                     .to = slice_frames(to, begin, value.shape[0]),
                     .scale = {},
                     .offset = {},
                     .tally = core.tally(),
                     .first_frame = core.frames_done()};
    if (scaled != nullptr) {
      edge.scale = scaled->scale;
      edge.offset = scaled->offset;
    }
    core.queue().copy_edge(edge, core.control());
  };
  store(outputs.latent, 0, &affine);
  store(outputs.mean, 0, nullptr);
  store(outputs.logvar, channels, nullptr);
}

void EncodeStream::Implementation::push(const TensorView& frames, const EncodeOutputs& outputs) {
  const StreamOptions& options = core.options();
  const TensorView view = video_view(frames, options.video, -1, options.height, options.width,
                                     core.info().video_channels);
  const int64_t count = view.shape[0];
  const int64_t latents = ready(count);
  const EncodeViews to = latents == 0 ? EncodeViews{} : output_views(outputs, latents);
  const int64_t stride = core.info().temporal_stride;
  const int64_t later = latents - (core.at_start() && latents > 0 ? 1 : 0);
  const int64_t runs = (later + core.frames_per_step() - 1) / core.frames_per_step();
  StreamCore::Push run = core.begin_push(latents - later, runs);
  int64_t position = 0;
  int64_t done = 0;
  while (done < latents) {
    const bool first = core.at_start();
    const int64_t n = first ? 1 : std::min(core.frames_per_step(), latents - done);
    const int64_t fresh = first ? 1 : n * stride - pending;
    core.step(
        n,
        [&](const TensorView& input) {
          auto* data = static_cast<std::byte*>(input.data);
          core.queue().copy(data, core.staging(), pending * core.staged_frame_bytes());
          load_frames(view, position, fresh, data + pending * core.staged_frame_bytes());
        },
        [&](const TensorView& output) { store_outputs(output, to, done); });
    pending = 0;
    position += fresh;
    done += n;
  }
  if (position < count) {
    load_frames(view, position, count - position,
                core.staging() + pending * core.staged_frame_bytes());
    pending += count - position;
  }
  run.finish();
}

void EncodeStream::Implementation::push_images(const TensorView& frames,
                                               const EncodeViews& outputs) {
  const int64_t count = frames.shape[0];
  const int64_t most = core.images_per_step();
  StreamCore::Push run = core.begin_push((count + most - 1) / most, 0);
  for (int64_t i = 0; i < count; i += most) {
    const int64_t n = std::min(most, count - i);
    core.images(
        n,
        [&](const TensorView& input) {
          load_frames(frames, i, n, static_cast<std::byte*>(input.data));
        },
        [&](const TensorView& output) { store_outputs(output, outputs, i); });
  }
  run.finish();
}

std::vector<NamedTensor> EncodeStream::Implementation::state() const {
  std::vector<NamedTensor> state;
  core.save(state);
  const int64_t bytes = pending * core.staged_frame_bytes();
  const auto storage = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes) + 1);
  core.queue().copy_to_host(storage->data(), core.staging(), bytes);
  state.push_back({.name = kPending,
                   .tensor = {.data = storage->data(),
                              .dtype = core.input_type(),
                              .device = {},
                              .shape = {pending, core.options().height, core.options().width,
                                        core.info().video_channels},
                              .strides = {}},
                   .storage = storage});
  return state;
}

void EncodeStream::Implementation::restore(const std::vector<NamedTensor>& state) {
  const std::map<std::string, TensorView> tensors = by_name(state);
  const auto found = tensors.find(kPending);
  const int64_t most = core.info().temporal_stride - 1;
  const std::vector<int64_t> plane = {core.options().height, core.options().width,
                                      core.info().video_channels};
  const bool fits = found != tensors.end() && found->second.shape.size() == 4 &&
                    std::equal(plane.begin(), plane.end(), found->second.shape.begin() + 1) &&
                    found->second.shape[0] >= 0 && found->second.shape[0] <= most &&
                    found->second.dtype == core.input_type() && is_contiguous(found->second) &&
                    found->second.data != nullptr;
  if (!fits) {
    fail(ErrorCode::kInvalidArgument,
         "state: expected {} as contiguous {} [0 to {},{},{},{}]; it must come from state() of an "
         "encoder of the same size and type",
         kPending, name_of(core.input_type()), most, plane[0], plane[1], plane[2]);
  }
  core.load(tensors);
  if (core.at_start() && found->second.shape[0] != 0) {
    core.reset();
    fail(ErrorCode::kInvalidArgument,
         "state: {} frames are held back before the first was encoded; it must come from state()",
         found->second.shape[0]);
  }
  pending = found->second.shape[0];
  core.queue().copy_from_host(core.staging(), found->second.data,
                              pending * core.staged_frame_bytes());
}

EncodeStream::EncodeStream(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
EncodeStream::EncodeStream(EncodeStream&&) noexcept = default;
EncodeStream& EncodeStream::operator=(EncodeStream&&) noexcept = default;
EncodeStream::~EncodeStream() = default;

int64_t EncodeStream::frames_per_step() const { return implementation_->core.frames_per_step(); }

int64_t EncodeStream::ready(int64_t frames) const { return implementation_->ready(frames); }

void EncodeStream::push(const TensorView& frames, const EncodeOutputs& outputs) {
  at_boundary([&] { implementation_->push(frames, outputs); });
}

NotFinite EncodeStream::not_finite() const {
  return at_boundary([&] { return implementation_->core.not_finite(); });
}

int64_t EncodeStream::finish() {
  const int64_t remainder = implementation_->pending;
  reset();
  return remainder;
}

void EncodeStream::reset() {
  implementation_->core.reset();
  implementation_->pending = 0;
}

EncodeStream EncodeStream::clone() const {
  return at_boundary(
      [&] { return EncodeStream(std::make_unique<Implementation>(*implementation_)); });
}

std::vector<NamedTensor> EncodeStream::state() const {
  return at_boundary([&] { return implementation_->state(); });
}

void EncodeStream::restore(const std::vector<NamedTensor>& state) {
  at_boundary([&] { implementation_->restore(state); });
}

}  // namespace zoetrope
