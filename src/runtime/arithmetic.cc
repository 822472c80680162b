// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "runtime/autoencoder_implementation.h"
#include "runtime/boundary.h"
#include "runtime/stream_core.h"

namespace zoetrope {
namespace {

double arithmetic_of(const graph::Graph& graph, const StreamOptions& size) {
  double sum = 0;
  for (const graph::Op& op : graph.ops) sum += graph::flops(graph, op, 1, size.height, size.width);
  return sum;
}

double arithmetic_of(const std::optional<Codec>& codec, const ModelInfo& info,
                     const StreamOptions& options, int64_t frames) {
  check_options(info, options);
  if (!codec || frames <= 0) return 0;
  const auto later = static_cast<double>((frames - 1) / info.temporal_stride);  // latent frames
  return arithmetic_of(codec->first.model, options) +
         later * arithmetic_of(codec->next.model, options);
}

}  // namespace

double Autoencoder::arithmetic_encode(const StreamOptions& options, int64_t frames) const {
  return at_boundary(
      [&] { return arithmetic_of(implementation_->encode, info(), options, frames); });
}

double Autoencoder::arithmetic_decode(const StreamOptions& options, int64_t frames) const {
  return at_boundary(
      [&] { return arithmetic_of(implementation_->decode, info(), options, frames); });
}

}  // namespace zoetrope
