// SPDX-License-Identifier: Apache-2.0
// A made-up video, or its latents, on their way through a Stream: what bench and profile time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/measured_clip.h"
#include "cli/options.h"
#include "cli/report.h"
#include "zoetrope/autoencoder.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

struct Run {
  double seconds = 0;               // in the Stream's push()
  double cpu_seconds = 0;           // of all threads in that time
  double first_output_seconds = 0;  // until the first latent or frame was there
  Outputs outputs;
};

// Runs the work of a command. Throws kCancelled that says so in words if it is interrupted.
void run_interruptible(const std::function<void()>& work);

class MeasuredJob {
 public:
  using Observer = std::function<void(const StepEvent&)>;

  // Loads the weights and opens the Stream. Throws kInvalidArgument for a size or a number of
  // frames that the model does not take.
  MeasuredJob(const Options& options, Report& report, const Observer& observer = {});

  // Another clip on the same model. Throws as the constructor.
  void change(int64_t frames, const media::FrameSize& size);

  // The same numbers every time. The first frame or latent is pushed alone, then as many as
  // --frames-per-step says, or, of a clip on the device, all. `what`: of the progress bar.
  Run run(const std::string& what);

  // Runs the first frames twice. Throws kCheckpoint if an output is not finite, kInternal if the
  // bits differ.
  void verify();

  // "decode/17x256x256/bfloat16/base_dim:96/threads:2": equal names, equal work.
  std::string name() const;

  int64_t frames_per_step() const;
  bool decode() const { return measure_.decode; }
  int64_t frames() const { return measure_.frames; }
  const media::FrameSize& size() const { return measure_.size; }
  int64_t threads() const { return threads_; }
  int64_t base_dim() const;
  DType dtype() const;
  const ModelInfo& info() const { return model_.info(); }
  double arithmetic() const;      // of the published model
  MemoryNeeded memory() const;    // as planned
  MemoryUse memory_use() const;   // of the device, without the clip
  double measure_peak() const;    // flops per second
  double measure_copies() const;  // bytes per second

 private:
  void check_job() const;
  void open();
  Run run(const std::string& what, int64_t frames);
  void push(int64_t first, int64_t count, Run& run);
  void reset();

  const Options& options_;
  MeasureOptions measure_;
  Report& report_;
  Autoencoder model_;
  std::optional<MeasuredClip> clip_;  // always; another after a change
  StreamOptions stream_options_;
  int64_t threads_ = 1;
  int64_t frames_done_ = 0;  // of the video, in the current run
  std::optional<EncodeStream> encoder_;
  std::optional<DecodeStream> decoder_;
};

}  // namespace zoetrope::cli
