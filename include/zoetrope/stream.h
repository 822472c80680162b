// SPDX-License-Identifier: Apache-2.0
// One video in progress. A Stream belongs to one thread at a time; several Streams of one
// Autoencoder may run at once. Results do not depend on how a video is cut into pushes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "zoetrope/export.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope {
inline namespace v0 {

struct StepEvent;  // in tools.h

struct StreamOptions {
  int64_t height = 0;  // of the video, in pixels; a multiple of ModelInfo::spatial_stride
  int64_t width = 0;
  VideoFormat video = {};  // of the frames pushed to an encoder or written by a decoder
  LatentScale scale = LatentScale::kNormalized;
  bool clamp = true;            // decoded frames to [-1, 1], as the published model does
  int64_t frames_per_step = 0;  // latent frames computed together; 0: the device's default
  int64_t memory_limit = 0;     // bytes, weights included; 0: none. Lowers frames_per_step first
  // A cudaStream_t of the caller's (null: the default stream), which must outlive the Stream. All
  // work is in its order: tensors on the device may be made and used by other work on it, and
  // push() waits only for results on the host. Empty: a stream of its own, and push() waits for
  // all.
  std::optional<void*> cuda_stream = {};
  // Called from the pushing thread: work items of the current push done, and their number.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Polled per work item, from any thread; true ends in Error kCancelled.
  std::function<bool()> cancelled = {};
  // Called from the pushing thread after each step of a Plan, and each copy of frames or latents
  // into and out of it, with what it did, how long it took and a way to read what it made. What it
  // throws ends the push. Empty: no clock is read.
  std::function<void(const StepEvent&)> observer = {};
};

// Each is float32, float16 or bfloat16 [latent_channels, n, height/8, width/8], n = ready(frames);
// a view without data is not written.
struct EncodeOutputs {
  TensorView latent = {};  // the mean in the Stream's LatentScale
  TensorView mean = {};    // raw
  TensorView logvar = {};  // raw
};

// NaN and infinity that a Stream gave, before values are clamped and rounded to the output's type.
struct NotFinite {
  int64_t values = 0;        // of all outputs together
  int64_t first_frame = -1;  // that has one, from 0: of the video, or an encoder's latent frame
};

class ZOETROPE_API EncodeStream {
 public:
  EncodeStream(EncodeStream&&) noexcept;
  EncodeStream& operator=(EncodeStream&&) noexcept;
  ~EncodeStream();

  // Latent frames computed together where a push brings enough of them.
  int64_t frames_per_step() const;

  // Latent frames that pushing `frames` more video frames would give.
  int64_t ready(int64_t frames) const;

  // Encodes every complete step: the first frame alone, then four frames for each latent. At most
  // 3 frames are held back. After any Error the Stream must be reset() or restore()d.
  void push(const TensorView& frames, const EncodeOutputs& outputs);

  // In all outputs of this video, since it began or restore() was called; latent, mean and logvar
  // count each. Ask before finish() or reset(), which forget it. Waits for the device; throws
  // kDevice if that failed.
  NotFinite not_finite() const;

  // Ends the video and makes the Stream ready for another. Returns the number of video frames that
  // were held back and never encoded: 0 if the video had 4k + 1 frames.
  int64_t finish();

  void reset();
  EncodeStream clone() const;

  // Everything needed to go on later, in this or another process: histories and held back frames
  // by name. restore() takes what state() gave a Stream of the same weights, size and format.
  std::vector<NamedTensor> state() const;
  void restore(const std::vector<NamedTensor>& state);

  struct ZOETROPE_HIDDEN Implementation;
  explicit EncodeStream(std::unique_ptr<Implementation> implementation);

 private:
  std::unique_ptr<Implementation> implementation_;
};

class ZOETROPE_API DecodeStream {
 public:
  DecodeStream(DecodeStream&&) noexcept;
  DecodeStream& operator=(DecodeStream&&) noexcept;
  ~DecodeStream();

  // Latent frames computed together where a push brings enough of them.
  int64_t frames_per_step() const;

  // Video frames that pushing `latents` more latent frames would give.
  int64_t ready(int64_t latents) const;

  // `latents`: float32, float16 or bfloat16 [latent_channels, n, height/8, width/8] in the Stream's
  // LatentScale. `video`: ready(n) frames in the Stream's VideoFormat.
  void push(const TensorView& latents, const TensorView& video);

  // In the frames of this video, since it began or restore() was called. Ask before finish() or
  // reset(), which forget it. Waits for the device; throws kDevice if that failed.
  NotFinite not_finite() const;

  // Ends the video and makes the Stream ready for another. Returns 0: nothing is held back.
  int64_t finish();

  void reset();
  DecodeStream clone() const;
  std::vector<NamedTensor> state() const;
  void restore(const std::vector<NamedTensor>& state);

  struct ZOETROPE_HIDDEN Implementation;
  explicit DecodeStream(std::unique_ptr<Implementation> implementation);

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace v0
}  // namespace zoetrope
