// SPDX-License-Identifier: Apache-2.0
// The two kinds of Stream behind their public faces.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/stream_core.h"
#include "zoetrope/stream.h"

namespace zoetrope {

// The caller's outputs as (frames, height, width, channels); empty views are not wanted.
struct EncodeViews {
  TensorView latent;
  TensorView mean;
  TensorView logvar;
};

struct ZOETROPE_HIDDEN EncodeStream::Implementation {
  Implementation(const std::shared_ptr<const Autoencoder::Implementation>& model,
                 const StreamOptions& options);

  int64_t ready(int64_t frames) const;
  EncodeViews output_views(const EncodeOutputs& outputs, int64_t frames) const;

  // Reads `count` frames of the caller's view, from `begin` on, into NDHWC memory of the
  // input's type.
  void load_frames(const TensorView& frames, int64_t begin, int64_t count, std::byte* to) const;
  void store_outputs(const TensorView& value, const EncodeViews& outputs, int64_t begin) const;
  void push(const TensorView& frames, const EncodeOutputs& outputs);

  // Every frame of the view is an image of its own.
  void push_images(const TensorView& frames, const EncodeViews& outputs);

  std::vector<NamedTensor> state() const;
  void restore(const std::vector<NamedTensor>& state);

  StreamCore core;
  int64_t pending = 0;  // frames in core.staging()
};

struct ZOETROPE_HIDDEN DecodeStream::Implementation {
  Implementation(const std::shared_ptr<const Autoencoder::Implementation>& model,
                 const StreamOptions& options);

  int64_t ready(int64_t latents) const;
  void load_latents(const TensorView& latents, int64_t begin, const TensorView& value) const;
  void store_frames(const TensorView& value, const TensorView& video, int64_t begin) const;
  void push(const TensorView& latents, const TensorView& video);
  void push_images(const TensorView& latents, const TensorView& video);

  StreamCore core;
};

}  // namespace zoetrope
