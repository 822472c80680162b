// SPDX-License-Identifier: Apache-2.0
// Latents in files, read and written a few latent frames at a time.
//
// .safetensors: `latent` float32 [C, T', h, w], with `mean` and `logvar` if asked for, and metadata
// of schema "zoetrope.latent" version 1. .npy: float32 [C, T', h, w] alone. .latent: what ComfyUI's
// SaveLatent writes, `latent_tensor` float32 [1, C, T', h, w] holding the raw mean, beside the
// empty tensor `latent_format_version_0`; Zoetrope adds its metadata, which ComfyUI ignores. The
// same input gives the same bytes: no times, no paths.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "media/frame_rate.h"
#include "media/video.h"
#include "zoetrope/video_format.h"

namespace zoetrope::media {

// "normalized", "raw"
const char* name_of(LatentScale scale);

// What is recorded of the video that was encoded, before any padding. Empty: not known.
struct LatentSource {
  std::optional<int64_t> height;
  std::optional<int64_t> width;
  std::optional<int64_t> frames;
  std::optional<FrameRate> rate;
  std::string color;             // VideoInfo::color
  std::string weights_checksum;  // ModelInfo::weights_checksum
  std::string version;           // of Zoetrope, version()
};

struct LatentInfo {
  int64_t channels = 0;
  int64_t frames = 0;  // latent frames, T'
  int64_t height = 0;  // in latent pixels
  int64_t width = 0;
  LatentScale scale = LatentScale::kNormalized;
  bool scale_recorded = false;  // false: by the file kind's convention or LatentReadOptions
  LatentSource source;
};

struct LatentReadOptions {
  std::optional<LatentScale> scale;  // for files that record none; a different record is refused
  Notice notice;                     // may be empty
  bool any_value = false;            // NaN and infinity pass; else opening looks for them
};

class LatentReader {
 public:
  virtual ~LatentReader() = default;
  const LatentInfo& info() const { return info_; }

  // Writes the next min(count, frames left) latent frames as float32 [C, n, h, w], contiguous, and
  // returns n; 0 at the end.
  virtual int64_t read(int64_t count, float* latent) = 0;

 protected:
  LatentInfo info_;
};

// By content: files of this kind, and foreign safetensors with one tensor of 16 channels named
// latent, latents, samples or latent_tensor, [16, T', h, w] or [1, 16, T', h, w]. Throws kIo,
// kInvalidArgument.
std::unique_ptr<LatentReader> open_latent_reader(const std::string& path,
                                                 const LatentReadOptions& options);

// True if the file is safetensors that open_latent_reader takes; a .npy is not known by its
// content.
bool is_latent_file(const std::string& path);

// One push's worth of latents: float32 [C, count, h, w], contiguous; mean and logvar only with
// LatentWriteOptions::posterior.
struct LatentBlock {
  int64_t count = 0;
  const float* latent = nullptr;
  const float* mean = nullptr;
  const float* logvar = nullptr;
};

struct LatentWriteOptions {
  int64_t channels = 0;
  int64_t height = 0;  // in latent pixels
  int64_t width = 0;
  std::optional<int64_t> frames;     // latent frames, if known
  std::optional<LatentScale> scale;  // empty: the file kind's own, see LatentWriter::scale
  bool posterior = false;            // .safetensors only
};

// Destroyed without finish(), it leaves nothing behind.
class LatentWriter {
 public:
  virtual ~LatentWriter() = default;

  // What LatentBlock::latent must be: raw for .latent, else as asked, normalized by default.
  LatentScale scale() const { return scale_; }

  virtual void write(const LatentBlock& block) = 0;

  // `source` may have become known only by reading to the end.
  virtual void finish(const LatentSource& source) = 0;

 protected:
  LatentScale scale_ = LatentScale::kNormalized;
};

// Throws kInvalidArgument: an unknown extension, a scale other than raw for .latent, posterior for
// a file that cannot hold it; kIo.
std::unique_ptr<LatentWriter> open_latent_writer(const std::string& path,
                                                 const LatentWriteOptions& options);

// False for .npy, which records neither the scale nor the size and frame count before padding.
bool records_source(const std::string& path);

}  // namespace zoetrope::media
