// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/fail.h"
#include "cli/batch.h"
#include "cli/interrupt.h"
#include "cli/model.h"

namespace zoetrope::cli {
namespace {

// Seconds that all threads of this process have computed.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Of the CPU, where it does the work; one that waits for a GPU.
int threads_of(const LoadOptions& load) {
  if (load.threads > 0) return load.threads;
  const std::vector<DeviceDescription> all = devices();
  const auto found = std::ranges::find(all, load.device, &DeviceDescription::id);
  return std::max(1, (found == all.end() ? all.front() : *found).threads);
}

StreamOptions stream_options(const Options& options, const VideoFormat& format) {
  StreamOptions stream = options.stream;
  stream.height = options.measure.size.height;
  stream.width = options.measure.size.width;
  stream.video = format;
  stream.clamp = false;  // would hide an infinity
  stream.cancelled = interrupted;
  return stream;
}

}  // namespace

void run_interruptible(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    fail(ErrorCode::kCancelled, "interrupted: nothing was measured");
  }
}

MeasuredJob::MeasuredJob(const Options& options, Report& report, const Observer& observer)
    : options_(options),
      measure_(options.measure),
      report_(report),
      model_(load_model(options, options.measure.decode ? Half::kDecoder : Half::kEncoder, report)),
      clip_(std::in_place, model_, measure_),
      stream_options_(stream_options(options, clip_->format())),
      threads_(threads_of(options.load)) {
  check_job();
  stream_options_.observer = observer;
  stream_options_.progress = [this](int64_t done, int64_t total) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
    report_.progress().show(static_cast<double>(frames_done_) + share);
  };
  open();
}

// The old Stream's memory goes before the new one's comes.
void MeasuredJob::open() {
  decoder_.reset();
  encoder_.reset();
  if (decode()) {
    decoder_.emplace(model_.open_decode(stream_options_));
  } else {
    encoder_.emplace(model_.open_encode(stream_options_));
  }
}

void MeasuredJob::change(int64_t frames, const media::FrameSize& size) {
  measure_.frames = frames;
  measure_.size = size;
  check_job();
  stream_options_.height = size.height;
  stream_options_.width = size.width;
  clip_.emplace(model_, measure_);
  open();
}

int64_t MeasuredJob::frames_per_step() const {
  return decoder_ ? decoder_->frames_per_step() : encoder_->frames_per_step();
}

void MeasuredJob::check_job() const {
  const int64_t space = info().spatial_stride;
  const int64_t time = info().temporal_stride;
  if (measure_.size.width % space != 0 || measure_.size.height % space != 0) {
    const auto nearest = [&](int64_t extent) { return std::max(space, extent / space * space); };
    fail(ErrorCode::kInvalidArgument,
         "--size {}x{}: expected multiples of {}; {}x{} is the next smaller", measure_.size.width,
         measure_.size.height, space, nearest(measure_.size.width), nearest(measure_.size.height));
  }
  if ((measure_.frames - 1) % time != 0) {
    const int64_t smaller = (measure_.frames - 1) / time * time + 1;
    fail(ErrorCode::kInvalidArgument, "--frames {}: expected {}k+1 frames, such as {} or {}",
         measure_.frames, time, smaller, smaller + time);
  }
}

int64_t MeasuredJob::base_dim() const {
  return decode() ? info().decoder_base_dim : info().encoder_base_dim;
}

DType MeasuredJob::dtype() const { return decode() ? info().decode_dtype : info().encode_dtype; }

std::string MeasuredJob::name() const {
  const char* tensors = measure_.tensors == TensorPlace::kDevice  ? "/tensors:device"
                        : measure_.tensors == TensorPlace::kBytes ? "/tensors:bytes"
                                                                  : "";
  return fmt::format("{}/{}x{}x{}/{}/base_dim:{}/threads:{}{}", decode() ? "decode" : "encode",
                     frames(), measure_.size.width, measure_.size.height, name_of(dtype()),
                     base_dim(), threads_, tensors);
}

double MeasuredJob::arithmetic() const {
  return decode() ? model_.arithmetic_decode(stream_options_, frames())
                  : model_.arithmetic_encode(stream_options_, frames());
}

MemoryNeeded MeasuredJob::memory() const {
  return decode() ? model_.memory_needed_decode(stream_options_)
                  : model_.memory_needed_encode(stream_options_);
}

MemoryUse MeasuredJob::memory_use() const {
  MemoryUse use = model_.memory_use();
  use.allocated -= clip_->device_bytes();
  use.most_allocated -= clip_->device_bytes();
  return use;
}

double MeasuredJob::measure_peak() const {
  check_interrupted();
  return measure_peak_flops(options_.load, dtype());
}

double MeasuredJob::measure_copies() const {
  check_interrupted();
  return measure_copy_bandwidth(options_.load);
}

Run MeasuredJob::run(const std::string& what) { return run(what, frames()); }

Run MeasuredJob::run(const std::string& what, int64_t frames) {
  const int64_t stride = info().temporal_stride;
  const int64_t latents = 1 + (frames - 1) / stride;
  const int64_t step = measure_.tensors == TensorPlace::kDevice ? latents : frames_per_step();
  report_.progress().start(what, "frames", frames);
  reset();
  Run run;
  for (int64_t latent = 0; latent < latents;) {
    check_interrupted();
    const int64_t count = latent == 0 ? 1 : std::min(step, latents - latent);
    push(latent, count, run);
    latent += count;
    frames_done_ = 1 + (latent - 1) * stride;
    report_.progress().show(static_cast<double>(frames_done_));
  }
  report_.progress().clear();
  return run;
}

void MeasuredJob::reset() {
  frames_done_ = 0;
  if (encoder_) encoder_->reset();
  if (decoder_) decoder_->reset();
}

// Latent frames [first, first + count), and the frames of the video that belong to them. Inputs are
// made and outputs examined while no clock runs.
void MeasuredJob::push(int64_t first, int64_t count, Run& run) {
  const MeasuredClip::Part part = clip_->part(first, count);
  const double cpu = cpu_seconds();
  const Timer timer;
  if (decode()) {
    decoder_->push(part.latents, part.video);
  } else {
    encoder_->push(part.video, {.latent = part.latents});
  }
  run.seconds += timer.seconds();
  run.cpu_seconds += cpu_seconds() - cpu;
  if (first == 0) run.first_output_seconds = run.seconds;
  clip_->examine(part, run.outputs);
}

void MeasuredJob::verify() {
  const int64_t step = frames_per_step();
  const int64_t some = std::min(frames(), 1 + step * info().temporal_stride);
  const Run once = run("checking", some);
  const Run again = run("checking", some);
  if (once.outputs.not_finite > 0) {
    fail(ErrorCode::kCheckpoint,
         "{}: {} of the outputs are not finite; the weights are damaged, or --dtype {} is too "
         "narrow for them",
         options_.weights, once.outputs.not_finite, name_of(dtype()));
  }
  if (once.outputs.bits != again.outputs.bits) {
    fail(ErrorCode::kInternal,
         "{}: two runs gave different bits, which must never be; please report it with what "
         "`zoetrope devices` prints",
         name());
  }
}

}  // namespace zoetrope::cli
