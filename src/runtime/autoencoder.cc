// SPDX-License-Identifier: Apache-2.0
#include "zoetrope/autoencoder.h"

#include <fmt/format.h>

#include <utility>

#include "base/fail.h"
#include "base/shape.h"
#include "checkpoint/checkpoint.h"
#include "models/model.h"
#include "runtime/autoencoder_implementation.h"
#include "runtime/backends.h"
#include "runtime/boundary.h"
#include "runtime/edge_view.h"
#include "runtime/stream_implementation.h"
#include "runtime/weights.h"

namespace zoetrope {
namespace {

using models::Entry;

void fill_info(ModelInfo& info, const models::Config& config, const LoadOptions& options) {
  info.family = config.family;
  if (options.encoder) info.encoder_base_dim = config.encoder.base_dim;
  if (options.decoder) info.decoder_base_dim = config.decoder.base_dim;
  const models::HalfConfig& half = info.encoder_base_dim != 0 ? config.encoder : config.decoder;
  info.video_channels = half.video_channels;
  info.latent_channels = half.latent_channels;
  info.spatial_stride = half.spatial_stride;
  info.temporal_stride = half.temporal_stride;
  info.latents_mean = config.latents_mean;
  info.latents_std = config.latents_std;
}

void check_asked_for(const models::Config& config, const LoadOptions& options,
                     const std::string& source) {
  const bool encoder = options.encoder && config.encoder.base_dim != 0;
  const bool decoder = options.decoder && config.decoder.base_dim != 0;
  if (encoder || decoder) return;
  const char* wanted = options.encoder ? "encoder" : "decoder";
  fail(ErrorCode::kCheckpoint, "{}: expected {} tensors, found none; use weights that hold the {}",
       source, wanted, wanted);
}

void log_loaded(const Autoencoder::Implementation& loaded, const std::vector<std::string>& unknown,
                const LoadOptions& options) {
  if (!options.log) return;
  options.log(
      LogLevel::kInfo,
      fmt::format("{}: {}, {:.0f} MiB packed for {}, checksum {}", loaded.source,
                  loaded.info.family, static_cast<double>(loaded.constants->bytes()) / (1 << 20),
                  loaded.backend->target().name(), loaded.info.weights_checksum));
  if (unknown.empty()) return;
  options.log(LogLevel::kWarning,
              fmt::format("{}: {} tensors belong to no layer and were left alone, the first is {}",
                          loaded.source, unknown.size(), unknown.front()));
}

std::shared_ptr<const Autoencoder::Implementation> load_checkpoint(
    const std::shared_ptr<const Checkpoint>& checkpoint, const LoadOptions& options) {
  auto loaded = std::make_shared<Autoencoder::Implementation>();
  loaded->backend = open_backend(options);
  loaded->source = checkpoint->source();
  loaded->constants = std::make_unique<ConstantStore>(*loaded->backend, loaded->source);
  const std::unique_ptr<models::Model> model = models::recognise(checkpoint);
  check_asked_for(model->config(), options, checkpoint->source());
  fill_info(loaded->info, model->config(), options);
  const Target& target = loaded->backend->target();
  loaded->info.device = target.name();
  loaded->info.encode_dtype = options.encode_dtype.value_or(target.default_operands());
  loaded->info.decode_dtype = options.decode_dtype.value_or(target.default_operands());
  if (loaded->info.encoder_base_dim != 0) {
    loaded->encode =
        compile_codec(*model, {Entry::kEncodeFirst, Entry::kEncodeNext, loaded->info.encode_dtype},
                      *loaded->backend, options, *loaded->constants);
  }
  if (loaded->info.decoder_base_dim != 0) {
    loaded->decode =
        compile_codec(*model, {Entry::kDecodeFirst, Entry::kDecodeNext, loaded->info.decode_dtype},
                      *loaded->backend, options, *loaded->constants);
  }
  loaded->info.weights_checksum = model->checksum();
  log_loaded(*loaded, model->unknown(), options);
  return loaded;
}

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
  return at_boundary([&] { return Autoencoder(load_checkpoint(open_weights(weights), options)); });
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
