// SPDX-License-Identifier: Apache-2.0
// What encoding and decoding streams share: memory, histories, and running entries.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "compiler/memory_plan.h"
#include "runtime/autoencoder_implementation.h"
#include "runtime/residency.h"
#include "runtime/step_event.h"
#include "zoetrope/stream.h"

namespace zoetrope {

// Sizes of a Stream, found without a device.
struct StreamSizes {
  int64_t frames_per_step = 1;  // latent frames
  MemoryNeeded memory;
};

// Throws kInvalidArgument if the model cannot work on such a size, or a number is negative.
void check_options(const ModelInfo& info, const StreamOptions& options);

// Checks the options against the model and lowers frames_per_step until the memory limit holds.
// `staging_frames` is how many video frames the Stream holds back at most. Throws
// kInvalidArgument, kOutOfMemory.
StreamSizes stream_sizes(const Autoencoder::Implementation& model, const Codec& codec,
                         const StreamOptions& options, int64_t staging_frames);

// Multiplications and additions of one latent frame by the published model's graph.
double model_flops(const graph::Graph& model, int64_t height, int64_t width);

// Histories and values of a Stream that computes n latent frames together.
MemoryNeeded plan_memory(const Plan& first, const Plan& next, int64_t n, int64_t height,
                         int64_t width);

// Target::scratch_bytes of both entries of a Stream.
int64_t scratch_bytes(const Target& target, const Plan& first, const Plan& next, int threads);

// Bytes of a video frame in the type that the entry `next` reads.
int64_t staged_frame_bytes(const Plan& next, int64_t height, int64_t width);

// Of the value that a step reads.
const Extent& input_extent(const Plan& plan);

// A Stream's state as the caller hands it in, by name. Throws kInvalidArgument if a name stands
// twice.
std::map<std::string, TensorView> by_name(const std::vector<NamedTensor>& state);

class StreamCore {
 public:
  // Opens the memory. `codec` belongs to `model`.
  StreamCore(std::shared_ptr<const Autoencoder::Implementation> model, const Codec& codec,
             StreamOptions options, int64_t staging_frames);
  StreamCore(const StreamCore& other);
  StreamCore& operator=(const StreamCore&) = delete;

  Queue& queue() const { return *queue_; }
  Device device() const { return model_->backend->device(); }
  const ModelInfo& info() const { return model_->info; }
  const StreamOptions& options() const { return options_; }
  int64_t frames_per_step() const { return sizes_.frames_per_step; }

  // Images that fit the memory taken for frames_per_step(), coded together.
  int64_t images_per_step() const;

  // True before the first frame of a video.
  bool at_start() const { return frames_done_ == 0; }
  std::byte* staging() const { return staging_->data(); }
  int64_t staged_frame_bytes() const {
    return zoetrope::staged_frame_bytes(codec_.next.plan, options_.height, options_.width);
  }
  int64_t frames_done() const { return frames_done_; }  // latent frames
  NotFiniteTally* tally() const { return reinterpret_cast<NotFiniteTally*>(tally_->data()); }
  DType input_type() const { return input_extent(codec_.next.plan).dtype; }

  void reset();

  // What the tally holds. Waits for the device.
  NotFinite not_finite() const;

  // One step of n latent frames: `next`, or `first` at the start (n = 1). `fill` writes the input
  // value, `take` reads the output value; both get a contiguous view (frames, height,
  // width, channels) of device memory.
  template <typename Fill, typename Take>
  void step(int64_t n, const Fill& fill, const Take& take) {
    const Program& program = at_start() ? codec_.first : codec_.next;
    run(program, n, true, fill, take);
    frames_done_ += n;
  }

  // n independent images through `first`, at the start; no history is kept.
  template <typename Fill, typename Take>
  void images(int64_t n, const Fill& fill, const Take& take) {
    run(codec_.first, n, false, fill, take);
  }

  // A push under way. Until finish() the Stream is broken; however it ends, the caller's tensors
  // are used no longer.
  class Push {
   public:
    explicit Push(StreamCore& core) : core_(core) {}
    ~Push();
    Push(const Push&) = delete;
    Push& operator=(const Push&) = delete;

    // Returns when results are there; see Queue::finish.
    void finish();

   private:
    StreamCore& core_;
  };

  // The numbers of runs make the total of the progress callback.
  Push begin_push(int64_t runs_first, int64_t runs_next);

  RunControl control() const;

  // Histories by name, and how many latent frames they have seen.
  void save(std::vector<NamedTensor>& state) const;
  void load(const std::map<std::string, TensorView>& state);

 private:
  template <typename Fill, typename Take>
  void run(const Program& program, int64_t n, bool keep_history, const Fill& fill,
           const Take& take) {
    const Plan& plan = program.plan;
    const Launch launch = make_launch(program, n, keep_history);
    copy_and_observe(plan, CopyKind::kIn, launch,
                     [&] { fill(value_view(plan, plan.input, launch)); });
    run_plan(program, launch);
    copy_and_observe(plan, CopyKind::kOut, launch,
                     [&] { take(value_view(plan, plan.output, launch)); });
  }

  template <typename Copy>
  void copy_and_observe(const Plan& plan, CopyKind kind, const Launch& launch, const Copy& copy) {
    if (!options_.observer) return copy();
    const auto start = std::chrono::steady_clock::now();
    copy();
    queue_->wait();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    options_.observer(copy_event(*model_->backend, plan, kind, launch, elapsed.count()));
  }

  Launch make_launch(const Program& program, int64_t n, bool keep_history) const;
  TensorView value_view(const Plan& plan, int32_t buffer, const Launch& launch) const;
  void run_plan(const Program& program, const Launch& launch);
  void check_memory() const;
  std::byte* history(const std::string& name) const;

  std::shared_ptr<const Autoencoder::Implementation> model_;
  WeightsLease lease_;
  const Codec& codec_;
  StreamOptions options_;
  StreamSizes sizes_;
  std::unique_ptr<Queue> queue_;  // before the memory, which is freed in its order
  std::unique_ptr<Memory> state_;
  std::unique_ptr<Memory> arena_;
  std::unique_ptr<Memory> staging_;
  std::unique_ptr<Memory> tally_;
  std::unique_ptr<Memory> scratch_;
  std::map<std::string, int64_t> histories_;  // name -> offset in state_
  int64_t frames_done_ = 0;
  int64_t steps_done_ = 0;  // of the current push
  int64_t steps_total_ = 0;
  bool broken_ = false;
};

}  // namespace zoetrope
