// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "cli/batch.h"
#include "cli/coding.h"
#include "cli/commands.h"
#include "cli/debugging.h"
#include "cli/model.h"
#include "cli/video_input.h"
#include "media/file_kind.h"
#include "media/latent_file.h"
#include "zoetrope/version.h"

namespace zoetrope::cli {
namespace {

class EncodeCommand {
 public:
  EncodeCommand(const Options& options, const Jobs& jobs, Report& report,
                const std::optional<Reference>& reference, Debugging& debugging)
      : options_(options),
        report_(report),
        reference_(reference),
        debugging_(debugging),
        input_(options, jobs, report) {}

  void prepare() {
    input_.wait_if_single();
    model_ = load_model(options_, Half::kEncoder, report_);
  }

  Outcome code(const Job& job) {
    const Timer timer;
    const media::VideoInfo video = input_.open();
    const FitPolicy policy = fit_policy(options_, media::records_source(job.output));
    const FittedSize fitted = input_.fit(job.input, policy, model_->info());
    const media::LatentWriteOptions writing = write_options(video, fitted);
    const Extent extent = {writing.channels, writing.frames, writing.height, writing.width};
    const auto unlike = reference_ ? reference_->foresee(extent, options_.tolerance) : std::nullopt;
    if (unlike) return unlike_reference(job, *unlike);
    const auto writer = media::open_latent_writer(job.output, writing);

    Encoding::Settings settings = {options_.stream, video.format, fitted, policy.frames,
                                   options_.posterior};
    settings.stream.scale = writer->scale();
    input_.follow(settings.stream, job.input);
    debugging_.observe(settings.stream, *model_, job.input, fitted.height, fitted.width);
    Encoding encoding(*model_, settings,
                      [&](const media::LatentBlock& block) { writer->write(block); });
    const int64_t frames = input_.encode_all(encoding);
    writer->finish(source(video, fitted, frames));
    report_.progress().finish();
    debugging_.finish(report_);

    Outcome outcome;
    outcome.frames = frames;
    outcome.height = fitted.source_height;
    outcome.width = fitted.source_width;
    outcome.latent_frames = encoding.latent_frames();
    outcome.not_finite = encoding.not_finite();
    outcome.latents = true;
    outcome.seconds = timer.seconds();
    return outcome;
  }

 private:
  media::LatentWriteOptions write_options(const media::VideoInfo& video,
                                          const FittedSize& fitted) const {
    const ModelInfo& info = model_->info();
    media::LatentWriteOptions options;
    options.channels = info.latent_channels;
    options.height = fitted.height / info.spatial_stride;
    options.width = fitted.width / info.spatial_stride;
    if (video.frames && video.frames_exact) {
      const bool trim = options_.fit_frames == FitFrames::kTrim;
      options.frames = (*video.frames - 1) / info.temporal_stride + 1;
      if (!trim && missing_frames(*video.frames, info.temporal_stride) > 0) ++*options.frames;
    }
    options.scale = options_.latent_scale;
    options.posterior = options_.posterior;
    return options;
  }

  media::LatentSource source(const media::VideoInfo& video, const FittedSize& fitted,
                             int64_t frames) const {
    media::LatentSource source;
    source.height = fitted.source_height;
    source.width = fitted.source_width;
    source.frames = frames;
    if (video.rate_known) source.rate = video.rate;
    source.color = video.color;
    source.weights_checksum = model_->info().weights_checksum;
    source.version = version();
    return source;
  }

  const Options& options_;
  Report& report_;
  const std::optional<Reference>& reference_;
  Debugging& debugging_;
  VideoInput input_;
  std::optional<Autoencoder> model_;
};

// Opens and drops the single output: what is wrong with it is found before the work. Returns the
// scale that it will have.
LatentScale try_output(const Options& options, const Jobs& jobs) {
  media::LatentWriteOptions writing;
  writing.channels = writing.height = writing.width = 1;
  writing.scale = options.latent_scale;
  writing.posterior = options.posterior;
  return media::open_latent_writer(jobs.jobs.at(0).output, writing)->scale();
}

}  // namespace

int run_encode(const Options& options) {
  check_weights(options);
  const Jobs jobs = plan_jobs(options, {".safetensors", media::classify_latent_output, false});
  check_expect(options, jobs);
  std::optional<Reference> reference;
  if (!jobs.many) {
    const LatentScale scale = try_output(options, jobs);
    if (!options.expect.empty()) reference = Reference::latents(options.expect, scale);
  }
  Debugging debugging(options, jobs);
  Report report(options, false);
  EncodeCommand command(options, jobs, report, reference, debugging);
  return run_jobs(jobs,
                  {[&] { command.prepare(); }, [&](const Job& job) { return command.code(job); },
                   reference, options.tolerance},
                  report);
}

}  // namespace zoetrope::cli
