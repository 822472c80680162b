// SPDX-License-Identifier: Apache-2.0
// Videos and latents on their way through the library's Streams, a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/fit.h"
#include "media/latent_file.h"
#include "media/video.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

// Frames in, latents out.
class Encoding {
 public:
  struct Settings {
    StreamOptions stream;  // without size and format
    VideoFormat format;    // of the frames pushed
    FittedSize fitted;
    FitFrames fit_frames = FitFrames::kPad;  // kRefuse is checked by the caller
    bool posterior = false;
  };
  using Sink = std::function<void(const media::LatentBlock&)>;

  Encoding(const Autoencoder& model, const Settings& settings, Sink sink);

  // Frames of the video's own size.
  void push(const media::Frames& frames);

  // Pads or trims the end. Returns the frames of the video that were encoded.
  int64_t finish();

  int64_t frames() const { return frames_; }  // pushed so far
  int64_t latent_frames() const { return latent_frames_; }

  // In all latents, after finish().
  NotFinite not_finite() const { return not_finite_; }

 private:
  void encode(const media::Frames& frames);
  void gather(const media::Frames& frames);
  void encode_gathered();

  const ModelInfo& info_;
  Settings settings_;
  EncodeStream stream_;
  Sink sink_;
  int64_t frames_ = 0;
  int64_t latent_frames_ = 0;
  NotFinite not_finite_;
  std::vector<std::byte> fitted_frames_;
  std::vector<std::byte> last_frame_;  // fitted
  std::vector<std::byte> gathered_;    // fitted frames until there are enough for a step
  int64_t gathered_frames_ = 0;
  std::vector<float> latent_;  // (c, n, h, w)
  std::vector<float> mean_;
  std::vector<float> logvar_;
};

// Latents in, frames out, cropped to the size that was encoded.
class Decoding {
 public:
  struct Settings {
    StreamOptions stream;  // without size and format
    VideoFormat format;    // of the frames that come out
    int64_t latent_height = 0;
    int64_t latent_width = 0;
    int64_t height = 0;  // of the frames that come out
    int64_t width = 0;
  };
  using Sink = std::function<void(const media::Frames&)>;

  Decoding(const Autoencoder& model, const Settings& settings, Sink sink);

  int64_t frames_per_step() const { return stream_.frames_per_step(); }

  // float32 [C, count, h, w]
  void push(int64_t count, const float* latent);

  // In the frames so far, whole ones; none if the first `kept` frames, those that were not cut off,
  // have none.
  NotFinite not_finite(int64_t kept) const;

 private:
  const ModelInfo& info_;
  Settings settings_;
  DecodeStream stream_;
  Sink sink_;
  std::vector<std::byte> video_;
  std::vector<std::byte> cropped_;
};

}  // namespace zoetrope::cli
