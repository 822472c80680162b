// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
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
#include "cli/video_input.h"
#include "media/file_kind.h"
#include "media/quality.h"
#include "media/video.h"

namespace zoetrope::cli {
namespace {

// Frames of the original that wait for their decoded ones: a few, since latents are decoded as they
// come.
class Originals {
 public:
  explicit Originals(const FittedSize& fitted) : fitted_(fitted) {}

  void add(const media::Frames& frames) {
    const media::Frames part = crop_frames(
        frames, {fitted_.offset_y, fitted_.offset_x, fitted_.source_height, fitted_.source_width},
        cropped_);
    format_ = part.format;
    const auto* data = static_cast<const std::byte*>(part.data);
    waiting_.insert(waiting_.end(), data, data + part.count * frame_size());
  }

  int64_t count() const {
    return waiting_.empty() ? 0 : static_cast<int64_t>(waiting_.size()) / frame_size();
  }

  media::Frames first(int64_t count) const {
    return {format_, count, fitted_.source_height, fitted_.source_width, waiting_.data()};
  }

  void drop(int64_t count) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + count * frame_size());
  }

 private:
  int64_t frame_size() const {
    return media::frame_bytes(format_, fitted_.source_height, fitted_.source_width);
  }

  FittedSize fitted_;
  VideoFormat format_;
  std::vector<std::byte> cropped_;
  std::vector<std::byte> waiting_;
};

class RoundtripCommand {
 public:
  RoundtripCommand(const Options& options, const Jobs& jobs, Report& report,
                   const std::optional<Reference>& reference, Debugging& debugging)
      : options_(options),
        report_(report),
        reference_(reference),
        debugging_(debugging),
        input_(options, jobs, report) {}

  void prepare() {
    input_.wait_if_single();
    model_ = load_model(options_, Half::kBoth, report_);
  }

  Outcome code(const Job& job) {
    const Timer timer;
    const media::VideoInfo video = input_.open();
    const FitPolicy policy = fit_policy(options_, true);  // what is padded is cut off again
    const FittedSize fitted = input_.fit(job.input, policy, model_->info());
    const media::WriteOptions writing = write_options(video, fitted, policy);
    const Extent extent = {
        .frames = writing.frames, .height = writing.height, .width = writing.width};
    const auto unlike = reference_ ? reference_->foresee(extent, options_.tolerance) : std::nullopt;
    if (unlike) return unlike_reference(job, *unlike);
    const auto writer = media::open_video_writer(job.output, writing);

    Encoding::Settings encode = {options_.stream, video.format, fitted, policy.frames, false};
    input_.follow(encode.stream, job.input);
    debugging_.observe(encode.stream, *model_, job.input, fitted.height, fitted.width);
    Decoding::Settings decode = decode_settings(encode, *writer);
    debugging_.observe(decode.stream, *model_, job.input, fitted.height, fitted.width);
    Originals originals(fitted);
    media::QualityMeter meter;
    Decoding decoding(*model_, decode, [&](const media::Frames& decoded) {
      media::Frames frames = decoded;
      frames.count = std::min(decoded.count, originals.count());
      if (frames.count == 0) return;
      writer->write(frames.count, frames.data);
      meter.add(originals.first(frames.count), frames);
      originals.drop(frames.count);
    });
    Encoding encoding(*model_, encode, [&](const media::LatentBlock& block) {
      decoding.push(block.count, block.latent);
    });
    const int64_t frames =
        input_.encode_all(encoding, [&](const media::Frames& block) { originals.add(block); });
    writer->finish();
    report_.progress().finish();
    debugging_.finish(report_);

    Outcome outcome;
    outcome.frames = frames;
    outcome.height = fitted.source_height;
    outcome.width = fitted.source_width;
    outcome.latent_frames = encoding.latent_frames();
    outcome.not_finite = decoding.not_finite(frames);
    outcome.seconds = timer.seconds();
    outcome.quality = meter.result();
    return outcome;
  }

 private:
  media::WriteOptions write_options(const media::VideoInfo& video, const FittedSize& fitted,
                                    const FitPolicy& policy) const {
    media::WriteOptions options;
    options.height = fitted.source_height;
    options.width = fitted.source_width;
    options.rate = video.rate;
    if (video.frames && video.frames_exact) {
      const int64_t stride = model_->info().temporal_stride;
      const bool trim = policy.frames == FitFrames::kTrim;
      options.frames = trim ? (*video.frames - 1) / stride * stride + 1 : *video.frames;
    }
    options.notice = [this](const std::string& text) { report_.note(text); };
    return options;
  }

  Decoding::Settings decode_settings(const Encoding::Settings& encode,
                                     const media::VideoWriter& writer) const {
    const ModelInfo& info = model_->info();
    const FittedSize& fitted = encode.fitted;
    Decoding::Settings settings;
    settings.stream = encode.stream;
    settings.stream.progress = {};  // the encoder's is shown
    settings.format = writer.format();
    settings.latent_height = fitted.height / info.spatial_stride;
    settings.latent_width = fitted.width / info.spatial_stride;
    settings.height = fitted.source_height;
    settings.width = fitted.source_width;
    settings.stream.memory_limit = left_for_decoding(encode);
    return settings;
  }

  // Both Streams are open at once: the decoder gets what the encoder leaves of the limit.
  int64_t left_for_decoding(const Encoding::Settings& encode) const {
    if (encode.stream.memory_limit == 0) return 0;
    StreamOptions options = encode.stream;
    options.height = encode.fitted.height;
    options.width = encode.fitted.width;
    options.video = encode.format;
    const MemoryNeeded needed = model_->memory_needed_encode(options);
    const int64_t left = encode.stream.memory_limit - (needed.total() - needed.weights);
    return std::max<int64_t>(1, left);
  }

  const Options& options_;
  Report& report_;
  const std::optional<Reference>& reference_;
  Debugging& debugging_;
  VideoInput input_;
  std::optional<Autoencoder> model_;
};

}  // namespace

int run_roundtrip(const Options& options) {
  check_weights(options);
  const Jobs jobs = plan_jobs(options, {".mp4", media::classify_video_output, true});
  check_expect(options, jobs);
  try_video_output(jobs);
  std::optional<Reference> reference;
  if (!options.expect.empty()) reference = Reference::video(options.expect);
  const bool pipe = jobs.jobs.at(0).output == "-";
  if (pipe) end_on_closed_pipe();
  Debugging debugging(options, jobs);
  Report report(options, pipe);
  RoundtripCommand command(options, jobs, report, reference, debugging);
  return run_jobs(jobs,
                  {[&] { command.prepare(); }, [&](const Job& job) { return command.code(job); },
                   reference, options.tolerance},
                  report);
}

}  // namespace zoetrope::cli
