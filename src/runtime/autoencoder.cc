// SPDX-License-Identifier: Apache-2.0
#include "zoetrope/autoencoder.h"

#include <utility>

#include "base/fail.h"
#include "base/shape.h"
#include "checkpoint/checkpoint.h"
#include "runtime/autoencoder_implementation.h"
#include "runtime/boundary.h"
#include "runtime/device_tensor.h"
#include "runtime/edge_view.h"
#include "runtime/load.h"
#include "runtime/module_file.h"
#include "runtime/residency.h"
#include "runtime/stream_implementation.h"
#include "runtime/weights.h"

namespace zoetrope {
namespace {

void require(const std::optional<Codec>& codec, const std::string& source, const char* half) {
  if (codec) return;
  fail(ErrorCode::kInvalidArgument,
       "{}: no {} was loaded; load weights that hold it, with "
       "LoadOptions::{} set",
       source, half, half);
}

size_t axis_of_frames(Layout layout) { return layout == Layout::kCTHW ? 1 : 0; }

// height and width of `video` where the options leave them out; axes counted from the back.
StreamOptions with_size(StreamOptions options, const TensorView& video) {
  const size_t axes = video.shape.size();
  if (axes != 4 && axes != 5) {
    fail(ErrorCode::kInvalidArgument, "video: expected 4 axes, or 5 with a batch, found {}",
         to_string(video.shape));
  }
  const bool channels_last = options.video.layout == Layout::kTHWC;
  if (options.height == 0) options.height = video.shape[axes - (channels_last ? 3 : 2)];
  if (options.width == 0) options.width = video.shape[axes - (channels_last ? 2 : 1)];
  return options;
}

TensorView optional_item(const TensorView& batch, int64_t index) {
  return batch.data == nullptr ? TensorView{} : batch_item(batch, index);
}

EncodeOutputs item_outputs(const EncodeOutputs& outputs, int64_t index) {
  return {.latent = optional_item(outputs.latent, index),
          .mean = optional_item(outputs.mean, index),
          .logvar = optional_item(outputs.logvar, index)};
}

TensorView optional_frames(const TensorView& frame, const TensorView& batch) {
  return batch.data == nullptr ? TensorView{} : batch_as_frames(frame, batch);
}

void check_batch(const char* what, const TensorView& view, int64_t batch) {
  if (view.data == nullptr) return;
  if (view.shape.size() == 5 && view.shape[0] == batch) return;
  fail(ErrorCode::kInvalidArgument, "{}: expected 5 axes, the first a batch of {}, found {}", what,
       batch, to_string(view.shape));
}

// One clip of 4k + 1 frames.
void encode_clip(EncodeStream::Implementation& stream, const TensorView& video,
                 const EncodeOutputs& outputs) {
  const size_t axis = axis_of_frames(stream.core.options().video.layout);
  const int64_t stride = stream.core.info().temporal_stride;
  const int64_t frames = video.shape[axis];
  if (frames < 1 || (frames - 1) % stride != 0) {
    fail(ErrorCode::kInvalidArgument,
         "video: expected {}k + 1 frames, found {}; pad or trim the clip, or use an EncodeStream",
         stride, frames);
  }
  stream.core.reset();
  stream.push(video, outputs);
}

void encode_batch(EncodeStream::Implementation& stream, const TensorView& video,
                  const EncodeOutputs& outputs) {
  const int64_t batch = video.shape[0];
  check_batch("latent", outputs.latent, batch);
  check_batch("mean", outputs.mean, batch);
  check_batch("logvar", outputs.logvar, batch);
  const StreamOptions& options = stream.core.options();
  const size_t axis = axis_of_frames(options.video.layout);
  if (batch > 0 && video.shape[axis + 1] == 1) {
    const TensorView frame = video_view(batch_item(video, 0), options.video, 1, options.height,
                                        options.width, stream.core.info().video_channels);
    const EncodeViews first = stream.output_views(item_outputs(outputs, 0), 1);
    return stream.push_images(batch_as_frames(frame, video),
                              {.latent = optional_frames(first.latent, outputs.latent),
                               .mean = optional_frames(first.mean, outputs.mean),
                               .logvar = optional_frames(first.logvar, outputs.logvar)});
  }
  for (int64_t i = 0; i < batch; ++i) {
    encode_clip(stream, batch_item(video, i), item_outputs(outputs, i));
  }
}

void decode_batch(DecodeStream::Implementation& stream, const TensorView& latents,
                  const TensorView& video) {
  const int64_t batch = latents.shape[0];
  check_batch("video", video, batch);
  const StreamOptions& options = stream.core.options();
  const ModelInfo& info = stream.core.info();
  if (batch > 0 && latents.shape[2] == 1) {
    const TensorView latent =
        latent_view("latents", batch_item(latents, 0), 1, options.height / info.spatial_stride,
                    options.width / info.spatial_stride, info.latent_channels);
    const TensorView frame = video_view(batch_item(video, 0), options.video, 1, options.height,
                                        options.width, info.video_channels);
    return stream.push_images(batch_as_frames(latent, latents), batch_as_frames(frame, video));
  }
  for (int64_t i = 0; i < batch; ++i) {
    stream.core.reset();
    stream.push(batch_item(latents, i), batch_item(video, i));
  }
}

}  // namespace

Autoencoder::Autoencoder(std::shared_ptr<const Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Autoencoder Autoencoder::load(const std::string& weights, const LoadOptions& options) {
  return at_boundary([&] {
    if (const auto module = open_module(weights)) return Autoencoder(load_module(module, options));
    return Autoencoder(load_checkpoint(open_weights(weights), options));
  });
}

Autoencoder Autoencoder::from_tensors(const std::vector<NamedTensor>& tensors,
                                      const LoadOptions& options) {
  return at_boundary(
      [&] { return Autoencoder(load_checkpoint(checkpoint_from_tensors(tensors), options)); });
}

const ModelInfo& Autoencoder::info() const { return implementation_->info; }

EncodeStream Autoencoder::open_encode(const StreamOptions& options) const {
  require(implementation_->encode, implementation_->source, "encoder");
  return at_boundary([&] {
    return EncodeStream(std::make_unique<EncodeStream::Implementation>(implementation_, options));
  });
}

DecodeStream Autoencoder::open_decode(const StreamOptions& options) const {
  require(implementation_->decode, implementation_->source, "decoder");
  return at_boundary([&] {
    return DecodeStream(std::make_unique<DecodeStream::Implementation>(implementation_, options));
  });
}

void Autoencoder::encode(const TensorView& video, const EncodeOutputs& outputs,
                         const StreamOptions& options) const {
  require(implementation_->encode, implementation_->source, "encoder");
  at_boundary([&] {
    EncodeStream::Implementation stream(implementation_, with_size(options, video));
    if (video.shape.size() == 5) return encode_batch(stream, video, outputs);
    encode_clip(stream, video, outputs);
  });
}

void Autoencoder::decode(const TensorView& latents, const TensorView& video,
                         const StreamOptions& options) const {
  require(implementation_->decode, implementation_->source, "decoder");
  at_boundary([&] {
    DecodeStream::Implementation stream(implementation_, with_size(options, video));
    if (latents.shape.size() == 5) return decode_batch(stream, latents, video);
    stream.push(latents, video);
  });
}

void Autoencoder::unload() const {
  at_boundary([&] {
    unload_weights(*implementation_);
    implementation_->backend->trim();
  });
}

void Autoencoder::trim() const {
  at_boundary([&] { implementation_->backend->trim(); });
}

MemoryUse Autoencoder::memory_use() const {
  return at_boundary([&] { return implementation_->backend->memory_use(); });
}

NamedTensor Autoencoder::make_tensor(DType dtype, const std::vector<int64_t>& shape) const {
  return at_boundary([&] { return zoetrope::make_tensor(implementation_->backend, dtype, shape); });
}

void Autoencoder::copy_tensor(const TensorView& from, const TensorView& to) const {
  at_boundary([&] { zoetrope::copy_tensor(*implementation_->backend, from, to); });
}

MemoryNeeded Autoencoder::memory_needed_encode(const StreamOptions& options) const {
  require(implementation_->encode, implementation_->source, "encoder");
  return at_boundary([&] {
    return stream_sizes(*implementation_, *implementation_->encode, options,
                        implementation_->info.temporal_stride - 1)
        .memory;
  });
}

MemoryNeeded Autoencoder::memory_needed_decode(const StreamOptions& options) const {
  require(implementation_->decode, implementation_->source, "decoder");
  return at_boundary(
      [&] { return stream_sizes(*implementation_, *implementation_->decode, options, 0).memory; });
}

}  // namespace zoetrope
