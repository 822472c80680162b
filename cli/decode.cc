// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/fail.h"
#include "cli/batch.h"
#include "cli/coding.h"
#include "cli/commands.h"
#include "cli/debugging.h"
#include "cli/fit.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "media/file_kind.h"
#include "media/latent_file.h"
#include "media/video.h"

namespace zoetrope::cli {
namespace {

// True for outputs that play at a rate.
bool has_rate(const std::string& output) {
  const media::FileKind kind = media::classify_video_output(output);
  return kind == media::FileKind::kVideo || kind == media::FileKind::kY4mPipe;
}

// True for what was meant for encode.
bool is_picture(const std::string& path) {
  try {
    const media::FileKind kind = media::classify_input(path);
    return kind == media::FileKind::kVideo || kind == media::FileKind::kImage;
  } catch (const Error&) {
    return false;
  }
}

class DecodeCommand {
 public:
  DecodeCommand(const Options& options, const Jobs& jobs, Report& report,
                const std::optional<Reference>& reference, Debugging& debugging)
      : options_(options),
        jobs_(jobs),
        report_(report),
        reference_(reference),
        debugging_(debugging) {}

  void prepare() {
    if (!jobs_.many) reader_ = open(jobs_.jobs.at(0));
    model_ = load_model(options_, Half::kDecoder, report_);
  }

  Outcome code(const Job& job) {
    const Timer timer;
    const std::unique_ptr<media::LatentReader> reader = reader_ ? std::move(reader_) : open(job);
    check_channels(job, reader->info());
    const Restored target = restored(job.input, reader->info(), model_->info());
    const Extent extent = {.frames = target.frames, .height = target.height, .width = target.width};
    const auto unlike = reference_ ? reference_->foresee(extent, options_.tolerance) : std::nullopt;
    if (unlike) return unlike_reference(job, *unlike);
    const auto writer = media::open_video_writer(job.output, write_options(job, *reader, target));
    int64_t frames = 0;
    Outcome outcome;
    try {
      outcome.not_finite = decode_all(job, *reader, target, *writer, frames);
    } catch (...) {
      const bool kept = options_.keep_partial && job.output != "-";
      if (kept && writer->frames() > 0) keep(target.frames, *writer);
      throw;
    }
    writer->finish();
    report_.progress().finish();
    debugging_.finish(report_);

    outcome.frames = frames;
    outcome.height = target.height;
    outcome.width = target.width;
    outcome.latent_frames = reader->info().frames;
    outcome.seconds = timer.seconds();
    return outcome;
  }

 private:
  std::unique_ptr<media::LatentReader> open(const Job& job) const {
    if (job.input == "-") {
      fail(ErrorCode::kInvalidArgument, "-: latents are read from files only: name one");
    }
    const media::Notice notice = [this](const std::string& text) { report_.note(text); };
    try {
      return media::open_latent_reader(job.input, {options_.latent_scale, notice});
    } catch (const Error&) {
      if (!is_picture(job.input)) throw;
      fail(ErrorCode::kIo, "{}: expected latents, found a video or image: zoetrope encode takes it",
           job.input);
    }
  }

  void check_channels(const Job& job, const media::LatentInfo& latents) const {
    const int64_t channels = model_->info().latent_channels;
    if (latents.channels == channels) return;
    fail(ErrorCode::kIo, "{}: expected latents of {} channels, as {} has, found {}", job.input,
         channels, options_.weights, latents.channels);
  }

  media::WriteOptions write_options(const Job& job, const media::LatentReader& reader,
                                    const Restored& target) const {
    media::WriteOptions options;
    options.height = target.height;
    options.width = target.width;
    options.frames = target.frames;
    options.notice = [this](const std::string& text) { report_.note(text); };
    const std::optional<media::FrameRate> recorded = reader.info().source.rate;
    options.rate = options_.reading.rate.value_or(recorded.value_or(media::FrameRate{}));
    if (!options_.reading.rate && !recorded && has_rate(job.output)) {
      report_.note(
          fmt::format("{}: records no frame rate: {} frames/s, unless --fps says otherwise",
                      job.input, media::to_string(options.rate)));
    }
    return options;
  }

  // `frames`: written so far.
  NotFinite decode_all(const Job& job, media::LatentReader& reader, const Restored& target,
                       media::VideoWriter& writer, int64_t& frames) {
    const media::LatentInfo& latents = reader.info();
    Decoding::Settings settings = {options_.stream, writer.format(), latents.height,
                                   latents.width,   target.height,   target.width};
    const double stride = static_cast<double>(model_->info().temporal_stride);
    settings.stream.scale = latents.scale;
    settings.stream.cancelled = interrupted;
    const int64_t pixels = model_->info().spatial_stride;
    debugging_.observe(settings.stream, *model_, job.input, latents.height * pixels,
                       latents.width * pixels);
    settings.stream.progress = [&](int64_t done, int64_t total) {
      const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
      report_.progress().show(static_cast<double>(frames) + share * (frames > 0 ? stride : 1));
    };
    Decoding decoding(*model_, settings, [&](const media::Frames& decoded) {
      const int64_t count = std::min(decoded.count, target.frames - frames);
      if (count > 0) writer.write(count, decoded.data);
      frames += count;
      report_.progress().show(static_cast<double>(frames));
    });
    report_.progress().start(job.input, "frames", target.frames);

    const int64_t step = decoding.frames_per_step();
    std::vector<float> block(
        static_cast<size_t>(latents.channels * step * latents.height * latents.width));
    for (int64_t count = 0; (count = reader.read(step, block.data())) > 0;) {
      check_interrupted();
      decoding.push(count, block.data());
    }
    return decoding.not_finite(frames);
  }

  // Finishes what there is of an output whose decoding failed.
  void keep(int64_t total, media::VideoWriter& writer) const {
    try {
      const std::string path = writer.finish_partial();
      report_.note(
          fmt::format("{}: holds the first {} of {} frames", path, writer.frames(), total));
    } catch (const Error& error) {
      report_.note(fmt::format("nothing could be kept: {}", error.what()));
    }
  }

  const Options& options_;
  const Jobs& jobs_;
  Report& report_;
  const std::optional<Reference>& reference_;
  Debugging& debugging_;
  std::optional<Autoencoder> model_;
  std::unique_ptr<media::LatentReader> reader_;  // of a single input, opened before the weights
};

}  // namespace

int run_decode(const Options& options) {
  check_weights(options);
  const Jobs jobs = plan_jobs(options, {".mp4", media::classify_video_output, true});
  check_expect(options, jobs);
  try_video_output(jobs);
  std::optional<Reference> reference;
  if (!options.expect.empty()) reference = Reference::video(options.expect);
  Debugging debugging(options, jobs);
  const bool pipe = jobs.jobs.at(0).output == "-";
  if (pipe) end_on_closed_pipe();
  Report report(options, pipe);
  DecodeCommand command(options, jobs, report, reference, debugging);
  return run_jobs(jobs,
                  {[&] { command.prepare(); }, [&](const Job& job) { return command.code(job); },
                   reference, options.tolerance},
                  report);
}

}  // namespace zoetrope::cli
