// SPDX-License-Identifier: Apache-2.0
#include "cli/model.h"

#include "base/fail.h"
#include "cli/interrupt.h"

namespace zoetrope::cli {

void check_weights(const Options& options) {
  if (!options.weights.empty()) return;
  fail(ErrorCode::kInvalidArgument,
       "no weights: name a checkpoint (.safetensors, .pth, .gguf or .irpa) or a diffusers folder "
       "with --weights or in ZOETROPE_WEIGHTS, or try things out with --weights random:8");
}

Autoencoder load_model(const Options& options, Half half, Report& report) {
  LoadOptions load = options.load;
  load.encoder = half != Half::kDecoder;
  load.decoder = half != Half::kEncoder;
  load.cancelled = interrupted;
  Progress& progress = report.progress();
  bool started = false;
  load.progress = [&](int64_t done, int64_t total) {
    if (!started) progress.start("loading weights", "tensors", total);
    started = true;
    progress.show(static_cast<double>(done));
  };
  load.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) report.note(std::string(message));
  };
  Autoencoder model = Autoencoder::load(options.weights, load);
  progress.clear();
  if (half == Half::kAny) return model;
  const ModelInfo& info = model.info();
  if (load.encoder && info.encoder_base_dim == 0) {
    fail(ErrorCode::kCheckpoint, "{}: expected an encoder, found a decoder alone", options.weights);
  }
  if (load.decoder && info.decoder_base_dim == 0) {
    fail(ErrorCode::kCheckpoint, "{}: expected a decoder, found an encoder alone", options.weights);
  }
  return model;
}

}  // namespace zoetrope::cli
