// SPDX-License-Identifier: Apache-2.0
#include "runtime/planned_model.h"

#include "base/fail.h"

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

}  // namespace

void PlannedModel::for_each_entry(const std::function<void(const PlannedEntry&)>& visit) const {
  for (const std::optional<PlannedCodec>* codec : {&encode, &decode}) {
    if (!*codec) continue;
    visit((*codec)->first);
    visit((*codec)->next);
  }
}

PlannedModel plan_model(const std::shared_ptr<const Checkpoint>& checkpoint, const Target& target,
                        const LoadOptions& options) {
  PlannedModel planned;
  planned.model = models::recognise(checkpoint);
  const models::Model& model = *planned.model;
  check_asked_for(model.config(), options, checkpoint->source());
  ModelInfo& info = planned.info;
  fill_info(info, model.config(), options);
  info.device = target.name();
  info.encode_dtype = options.encode_dtype.value_or(target.default_operands());
  info.decode_dtype = options.decode_dtype.value_or(target.default_operands());
  const std::vector<std::string>& off = options.disabled_passes;
  if (info.encoder_base_dim != 0) {
    const CodecEntries entries = {Entry::kEncodeFirst, Entry::kEncodeNext, info.encode_dtype};
    planned.encode = plan_codec(model, entries, target, off);
  }
  if (info.decoder_base_dim != 0) {
    const CodecEntries entries = {Entry::kDecodeFirst, Entry::kDecodeNext, info.decode_dtype};
    planned.decode = plan_codec(model, entries, target, off);
  }
  return planned;
}

}  // namespace zoetrope
