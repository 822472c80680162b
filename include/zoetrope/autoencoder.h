// SPDX-License-Identifier: Apache-2.0
// A loaded model. Const and shareable between threads; work in progress lives in Streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zoetrope/error.h"
#include "zoetrope/export.h"
#include "zoetrope/stream.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/video_format.h"

namespace zoetrope {
inline namespace v0 {

// Where the library takes its memory from. `allocate` returns null when there is none.
struct Allocator {
  std::function<void*(size_t bytes, size_t alignment)> allocate;
  std::function<void(void* data, size_t bytes)> deallocate;
};

enum class LogLevel : uint8_t { kInfo, kWarning };

struct LoadOptions {
  // "cpu", "cuda", "cuda:N", or "auto": the first GPU that can be used, else the CPU.
  std::string device = "auto";
  // What kernels are for, where it is not the best that the device runs: "cpu-avx2".
  std::string target = {};
  std::optional<DType> encode_dtype = {};  // operand type; empty: what suits the device
  std::optional<DType> decode_dtype = {};
  int threads = 0;                                // CPU worker threads; 0: one per core
  bool encoder = true;                            // load what encodes, if the checkpoint holds it
  bool decoder = true;                            // load what decodes, if the checkpoint holds it
  std::vector<std::string> disabled_passes = {};  // compiler passes to leave out, by name
  Allocator allocator = {};                       // empty: the library's own
  // Called from the loading thread with tensors done and their number.
  std::function<void(int64_t done, int64_t total)> progress = {};
  std::function<void(LogLevel, std::string_view message)> log = {};
  std::function<bool()> cancelled = {};  // polled between tensors; true ends in Error kCancelled
};

// What was found in the checkpoint.
struct ModelInfo {
  std::string family;                    // "wan2.1"
  std::string device;                    // what the weights were packed for, e.g. "cpu-avx2"
  DType encode_dtype = DType::kFloat32;  // of the operands
  DType decode_dtype = DType::kFloat32;
  int64_t encoder_base_dim = 0;  // 0: no encoder loaded
  int64_t decoder_base_dim = 0;  // 0: no decoder loaded
  int64_t video_channels = 3;
  int64_t latent_channels = 16;
  int64_t spatial_stride = 8;   // video pixels per latent pixel, each way
  int64_t temporal_stride = 4;  // video frames per latent frame, after the first
  std::vector<float> latents_mean;
  std::vector<float> latents_std;
  std::string weights_checksum;  // of the values loaded, whatever their type and naming
};

// Bytes that a Stream takes beside the weights.
struct MemoryNeeded {
  int64_t weights = 0;  // packed, shared by all Streams
  int64_t state = 0;    // histories
  int64_t arena = 0;    // values of one step
  int64_t staging = 0;  // frames held at the edges
  int64_t scratch = 0;  // of threads: sums under way; 0 on a GPU
  int64_t total() const { return weights + state + arena + staging + scratch; }
};

// Bytes of a GPU's memory; 0 on the CPU.
struct MemoryUse {
  int64_t allocated = 0;       // by this model: weights, Streams and its tensors
  int64_t most_allocated = 0;  // since it was loaded
  int64_t taken = 0;           // of the whole device as its driver counts, by all processes
};

class ZOETROPE_API Autoencoder {
 public:
  // `weights`: a .safetensors, .pth, .gguf or .irpa file, a diffusers folder,
  // random[:base_dim[:seed]], or a module (write_module), which stays mapped and must not be
  // changed in place. Throws kCheckpoint, kIo, kUnsupported, kOutOfMemory, kCancelled.
  static Autoencoder load(const std::string& weights, const LoadOptions& options = {});

  // Named tensors in memory, in any known naming. They are only read during the call.
  static Autoencoder from_tensors(const std::vector<NamedTensor>& tensors,
                                  const LoadOptions& options = {});

  const ModelInfo& info() const;

  EncodeStream open_encode(const StreamOptions& options) const;
  DecodeStream open_decode(const StreamOptions& options) const;

  // Whole clips at once. `video` has the format's four axes, or five with a leading batch axis:
  // clips are coded one after another, single frames (T = 1) together. Outputs are as in
  // EncodeStream::push, with the same batch axis. height and width of `options` may be 0: they are
  // taken from `video`. Throws kInvalidArgument unless T = 4k + 1.
  void encode(const TensorView& video, const EncodeOutputs& outputs,
              const StreamOptions& options = {}) const;
  void decode(const TensorView& latents, const TensorView& video,
              const StreamOptions& options = {}) const;

  // What open_encode or open_decode would take; takes none itself. Without frames_per_step and
  // memory_limit it depends on what the device has free.
  MemoryNeeded memory_needed_encode(const StreamOptions& options) const;
  MemoryNeeded memory_needed_decode(const StreamOptions& options) const;

  MemoryUse memory_use() const;

  // unload() moves the weights to the host's memory and gives the device's back; opening a Stream
  // brings them back. Throws kInvalidArgument while a Stream is open. trim() gives back what
  // Streams that ended have left, which else happens by and by. Neither waits for other work on the
  // device.
  void unload() const;
  void trim() const;

  // A contiguous tensor on the model's device, for callers without a CUDA of their own: its values
  // are not set, `storage` frees it. copy_tensor copies such a tensor to one of the same type and
  // shape on the host, or back.
  NamedTensor make_tensor(DType dtype, const std::vector<int64_t>& shape) const;
  void copy_tensor(const TensorView& from, const TensorView& to) const;

  // Multiplications and additions, counted one each, that the published model takes for a video of
  // `frames` frames, taps on padding and on an empty history included: the arithmetic by which
  // implementations are compared. StepEvent::flops counts the steps of the Plan, which are fewer.
  // 0 if that half of the model is not loaded.
  double arithmetic_encode(const StreamOptions& options, int64_t frames) const;
  double arithmetic_decode(const StreamOptions& options, int64_t frames) const;

  struct ZOETROPE_HIDDEN Implementation;

 private:
  explicit Autoencoder(std::shared_ptr<const Implementation> implementation);
  std::shared_ptr<const Implementation> implementation_;
};

}  // namespace v0
}  // namespace zoetrope
