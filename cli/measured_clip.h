// SPDX-License-Identifier: Apache-2.0
// The made-up video and latents that bench and profile push, where --tensors says.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/options.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

// What came out of a run so far.
struct Outputs {
  uint64_t bits = 0xcbf29ce484222325;  // a hash of all of it
  int64_t not_finite = 0;              // numbers that are none; of bytes 0
};

class MeasuredClip {
 public:
  // What one push reads and writes.
  struct Part {
    TensorView video;    // (frames, height, width, channels)
    TensorView latents;  // (channels, frames, height / 8, width / 8)
  };

  // `model` and `options` must outlive the clip.
  MeasuredClip(const Autoencoder& model, const MeasureOptions& options);

  VideoFormat format() const;

  // Latent frames [first, first + count) and the video's frames of the same time. What is to be
  // pushed is filled, the same for the same part: on the host until another part is asked for, on
  // the device all of it the first time. Throws kOutOfMemory.
  Part part(int64_t first, int64_t count);

  // Adds what a push wrote to such a part.
  void examine(const Part& part, Outputs& outputs);

  // Of the clip in the device's memory.
  int64_t device_bytes() const;

 private:
  int64_t frames_of(int64_t first, int64_t count) const;
  int64_t first_frame(int64_t first) const;
  void fill_video(int64_t first, int64_t count);
  void fill_latents(int64_t first, int64_t count);
  void make_on_device();

  const Autoencoder& model_;
  const MeasureOptions& options_;
  int64_t video_frame_ = 0;  // elements of a frame
  int64_t latent_frame_ = 0;
  std::vector<float> video_ = {};  // of one part
  std::vector<uint8_t> bytes_ = {};
  std::vector<float> latents_ = {};
  NamedTensor device_video_ = {};  // of the whole clip; frames outermost, of latents too
  NamedTensor device_latents_ = {};
};

}  // namespace zoetrope::cli
