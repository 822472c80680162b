// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/fail.h"
#include "cli/check_clip.h"
#include "cli/check_memory.h"
#include "cli/check_report.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/made_up_input.h"
#include "cli/model.h"
#include "cli/report.h"
#include "cli/standard_streams.h"
#include "cli/step_errors.h"
#include "cli/ways.h"

namespace zoetrope::cli {
namespace {

Autoencoder load(const Options& options, const LoadOptions& way, Report& report) {
  Options one = options;
  one.load = way;
  return load_model(one, Half::kAny, report);
}

// One side of the comparison.
struct Side {
  const Autoencoder& model;
  std::optional<EncodeStream> encoder = {};
  std::optional<DecodeStream> decoder = {};
  media::QualityMeter quality = {};  // of its decoded clip beside the original
  std::vector<float> latent = {};    // one latent frame: (channels, 1, height / 8, width / 8)
  std::vector<float> video = {};     // the frames that it gives: (frames, height, width, 3)

  void open(const StreamOptions& stream, const std::function<void(const StepEvent&)>& observer) {
    StreamOptions options = stream;
    options.observer = observer;
    if (model.info().encoder_base_dim != 0) encoder.emplace(model.open_encode(options));
    options.video = kDecodedFormat;
    if (model.info().decoder_base_dim != 0) decoder.emplace(model.open_decode(options));
  }
};

TensorView view_of(std::vector<float>& values, std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  values.resize(static_cast<size_t>(count));
  TensorView view;
  view.data = values.data();
  view.shape = std::move(shape);
  return view;
}

// Runs both sides over the clip, a latent frame at a time. The reference goes first; both decode
// what its encoder gave, so that errors of the halves do not add up.
class Comparing {
 public:
  Comparing(const Autoencoder& tested, const Autoencoder& reference, const CheckClip& clip,
            Report& report)
      : tested_{tested}, reference_{reference}, clip_(clip), report_(report) {
    StreamOptions stream;
    stream.height = clip.height;
    stream.width = clip.width;
    stream.video = clip.format;
    stream.frames_per_step = 1;
    stream.cancelled = interrupted;
    tested_.open(stream, [this](const StepEvent& event) { errors_.compare(event); });
    reference_.open(stream, [this](const StepEvent& event) { errors_.keep(event); });
  }

  CheckResult run() {
    const int64_t stride = reference_.model.info().temporal_stride;
    report_.progress().start("checking", "frames", clip_.frames);
    for (int64_t frame = 0; frame < clip_.frames;) {
      check_interrupted();
      const int64_t count = frame == 0 ? 1 : stride;
      encode(frame, count);
      decode(frame, count);
      frame += count;
      report_.progress().show(static_cast<double>(frame));
    }
    report_.progress().clear();
    CheckResult result = {.rows = errors_.rows(), .unmatched = errors_.unmatched()};
    if (!reference_.decoder) return result;
    result.decoded_psnr = psnr(squared_error_, compared_);
    if (reference_.encoder) {
      result.tested_psnr = tested_.quality.result().psnr;
      result.reference_psnr = reference_.quality.result().psnr;
    }
    return result;
  }

 private:
  std::vector<int64_t> latent_shape() const {
    const ModelInfo& info = reference_.model.info();
    return {info.latent_channels, 1, clip_.height / info.spatial_stride,
            clip_.width / info.spatial_stride};
  }

  void encode(int64_t frame, int64_t count) {
    if (!reference_.encoder) return;
    for (Side* side : {&reference_, &tested_}) {
      EncodeOutputs outputs;
      outputs.latent = view_of(side->latent, latent_shape());
      side->encoder->push(clip_.view(frame, count), outputs);
    }
    errors_.end_push();
  }

  void decode(int64_t frame, int64_t count) {
    if (!reference_.decoder) return;
    if (!reference_.encoder) {
      const std::vector<int64_t> shape = latent_shape();
      reference_.latent = made_up_latents(shape[0], 1, shape[2], shape[3]);
    }
    const TensorView latent = view_of(reference_.latent, latent_shape());
    for (Side* side : {&reference_, &tested_}) {
      side->decoder->push(latent, view_of(side->video, {count, clip_.height, clip_.width, 3}));
      if (!reference_.encoder) continue;
      side->quality.add(clip_.part(frame, count),
                        {kDecodedFormat, count, clip_.height, clip_.width, side->video.data()});
    }
    errors_.end_push();
    for (size_t i = 0; i < tested_.video.size(); ++i) {
      const double error = double{tested_.video[i]} - double{reference_.video[i]};
      squared_error_ += error * error;
    }
    compared_ += std::ssize(tested_.video);
  }

  Side tested_;
  Side reference_;
  const CheckClip& clip_;
  Report& report_;
  StepErrors errors_;
  double squared_error_ = 0;  // of decoded values
  int64_t compared_ = 0;
};

int compare(const Options& options, const CheckpointDescription& model) {
  const Ways ways = ways_of(options);
  Report report(options, options.json);
  if (model.family.empty()) (void)load(options, ways.reference, report);  // says why it cannot
  CheckInput input(options, model, report);
  check_memory(options, ways, model, input);
  const Autoencoder reference = load(options, ways.reference, report);
  const Autoencoder tested = load(options, ways.tested, report);
  const CheckClip clip = input.read();
  CheckResult result = Comparing(tested, reference, clip, report).run();
  result.weights = options.weights;
  result.info = reference.info();
  result.tested = describe(tested, ways.tested);
  result.reference = describe(reference, ways.reference);
  result.clip = clip.description();
  result.bounds = bounds_for(tested.info(), reference.info(), options.against.tolerance);
  if (options.json) {
    print(to_json(result) + "\n");
  } else if (!options.quiet) {
    print(to_text(result));
  }
  return problem_of(result).empty() ? kExitOk : kExitDifferent;
}

}  // namespace

int run_check(const Options& options) {
  check_weights(options);
  const CheckpointDescription model = zoetrope::describe(options.weights);
  if (model.module) {
    fail(ErrorCode::kUnsupported,
         "{}: a module, whose weights are packed: check the checkpoint that it was made from",
         options.weights);
  }
  return compare(options, model);
}

}  // namespace zoetrope::cli
