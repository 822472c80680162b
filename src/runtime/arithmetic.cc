// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "runtime/autoencoder_implementation.h"
#include "runtime/boundary.h"
#include "runtime/stream_core.h"

namespace zoetrope {
namespace {

double arithmetic_of(const std::optional<Codec>& codec, const ModelInfo& info,
                     const StreamOptions& options, int64_t frames) {
  check_options(info, options);
  if (!codec || frames <= 0) return 0;
  const int64_t later = (frames - 1) / info.temporal_stride;  // latent frames
  return model_flops(codec->first.model, options.height, options.width) +
         static_cast<double>(later) * model_flops(codec->next.model, options.height, options.width);
}

}  // namespace

double model_flops(const graph::Graph& model, int64_t height, int64_t width) {
  double sum = 0;
  for (const graph::Op& op : model.ops) sum += graph::flops(model, op, 1, height, width);
  return sum;
}

double Autoencoder::arithmetic_encode(const StreamOptions& options, int64_t frames) const {
  return at_boundary(
      [&] { return arithmetic_of(implementation_->encode, info(), options, frames); });
}

double Autoencoder::arithmetic_decode(const StreamOptions& options, int64_t frames) const {
  return at_boundary(
      [&] { return arithmetic_of(implementation_->decode, info(), options, frames); });
}

}  // namespace zoetrope
