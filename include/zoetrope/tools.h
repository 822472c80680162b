// SPDX-License-Identifier: Apache-2.0
// What tools ask the library beside coding video.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zoetrope/autoencoder.h"
#include "zoetrope/export.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {
inline namespace v0 {

struct DeviceDescription {
  std::string id;            // what LoadOptions::device takes
  std::string name;          // the maker's name of it
  std::string instructions;  // CPU: the instruction set that kernels use, e.g. "AVX3"
  int threads = 0;           // CPU: worker threads by default
  int64_t memory = 0;        // bytes
  std::string dtypes;        // operand types, e.g. "float32"
};

// Devices that can be used now, best first.
ZOETROPE_API std::vector<DeviceDescription> devices();

// Multiplications and additions per second, counted one each, of the device and threads that
// `options` name, in loops of the best instruction for sums of products of `operands`, on registers
// alone: what a kernel for that type can reach at most. Takes 0.2 s. Throws as Autoencoder::load.
ZOETROPE_API double measure_peak_flops(const LoadOptions& options, DType operands);

// Bytes read plus bytes written per second, by the same threads, while copying memory beyond any
// cache's size: 128 MiB to 128 MiB more.
ZOETROPE_API double measure_copy_bandwidth(const LoadOptions& options);

// Frames, rows, columns and channels of a value.
struct ValueShape {
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// A value that a step made. It holds during the observer's call.
struct StepResult {
  std::string_view name;  // the published layer's, whatever passes did: the same in every Plan
  ValueShape shape;
  DType dtype = DType::kFloat32;
  // Copies all of it to the host as float32 (frames, height, width, channels). What is not read
  // costs nothing.
  std::function<void(float* values)> read = {};
};

// One step of a Plan, or a copy between the caller's tensors and a value, done: what
// StreamOptions::observer gets. Views hold during the call.
struct StepEvent {
  std::string_view entry;   // "encode.first", "encode.next", "decode.first" or "decode.next"
  std::string_view name;    // of the value it makes: the published layer's
  std::string_view op;      // "conv", "attention", "carry", ...; "copy_in", "copy_out" of a copy
  std::string_view kernel;  // that ran it
  ValueShape x;             // what it reads first
  ValueShape y;             // what it makes
  // Of a conv, taps in time, rows and columns that are really read; 0 of other steps.
  int64_t taps_time = 0;
  int64_t taps_height = 0;
  int64_t taps_width = 0;
  // Multiplications and additions by the op's definition, counted one each; a kernel may get by
  // with fewer, as Winograd's convs do.
  double flops = 0;
  double bytes = 0;    // each operand, result and constant once; of a copy, those of the value
  double seconds = 0;  // on the device; of a copy, until the caller's thread goes on
  int64_t memory = 0;  // bytes that values hold during the step, as planned; histories apart
  // What it made; of copy_in the input, as the first step reads it. A carry only copies: none.
  std::vector<StepResult> results = {};
};

struct TensorDescription {
  std::string name;  // as in the file
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
};

// What a module was compiled for.
struct ModuleDescription {
  std::string target;                 // "cpu-avx2", "cuda-sm90"
  int packing_version = 0;            // of the packed weights
  std::optional<DType> encode_dtype;  // of the operands; empty: it does not encode
  std::optional<DType> decode_dtype;
  std::vector<std::string> disabled_passes;
  std::string weights_checksum;              // of the weights it was made from
  std::string version;                       // of the zoetrope that made it
  std::map<std::string, std::string> plans;  // fingerprint of each entry's Plan
  int64_t bytes = 0;                         // of packed weights
};

// What a checkpoint holds, read from its headers alone; of a module, its data too is checked.
struct CheckpointDescription {
  // "safetensors", "torch", "gguf", "irpa", "diffusers", "random", "module"
  std::string format;
  std::string family;            // "wan2.1"; empty if the tensors are not of a known model
  std::string naming;            // "published", "diffusers"
  std::string problem;           // why it cannot be loaded; empty if it can
  int64_t encoder_base_dim = 0;  // 0: no encoder
  int64_t decoder_base_dim = 0;
  int64_t latent_channels = 0;
  int64_t spatial_stride = 0;   // as in ModelInfo; 0: not of a known model
  int64_t temporal_stride = 0;  // the same
  int64_t parameters = 0;
  std::vector<TensorDescription> tensors;  // sorted by name
  std::vector<std::string> unknown;        // tensors of no layer, ignored
  std::vector<std::string> missing;        // published names that a layer lacks
  std::optional<ModuleDescription> module;
};

// Throws kCheckpoint or kIo if the file is not a readable checkpoint at all.
ZOETROPE_API CheckpointDescription describe(const std::string& weights);

// Packs the weights for a target and writes them to `path` as a module, which loads without
// packing. The target is options.target, else that of options.device; with options.target no device
// is needed. The same input gives the same bytes. Throws as Autoencoder::load, kIo, and
// kUnsupported for a module.
ZOETROPE_API void write_module(const std::string& weights, const std::string& path,
                               const LoadOptions& options = {});

// A Graph as text, one line for each op: as the model gives it, or after a pass.
struct GraphDescription {
  std::string pass;     // its name in LoadOptions::disabled_passes; empty: before the first
  std::string summary;  // what the pass does, in a line
  bool disabled = false;
  int64_t changes = 0;  // how often the pass changed the Graph
  double seconds = 0;   // that it took
  int64_t ops = 0;
  std::string text;
};

// The Graph of an entry ("decode.next") before and after each pass, in their order, for the target
// that `options` name; with options.target no device is needed. Throws kInvalidArgument if there is
// no such entry, and as Autoencoder::load.
ZOETROPE_API std::vector<GraphDescription> describe_graphs(const std::string& weights,
                                                           const std::string& entry,
                                                           const LoadOptions& options = {});

// What memory a step's operands and results take.
struct BufferDescription {
  std::string name;  // of the value that needed it first
  std::string kind;  // "input", "output", "state": kept between steps, "arena"
  DType dtype = DType::kFloat32;
  ValueShape shape;
  int64_t bytes = 0;
  int64_t offset = 0;      // in the memory of states or in the arena
  int64_t first_step = 0;  // lives from here ...
  int64_t last_step = 0;   // ... to here
};

struct ConstantDescription {
  std::string name;
  std::string layout;  // as the kernel asks for it; "plain": as it is
  int64_t bytes = 0;
};

struct StepDescription {
  std::string name;  // of the value it makes: the published layer's
  std::string op;
  std::string kernel;
  std::map<std::string, int64_t> attributes;
  std::map<std::string, int64_t> buffers;    // role ("x", "history", "y") -> its buffer
  std::map<std::string, int64_t> constants;  // role ("weight", "bias") -> its constant
  std::vector<std::string> refused;          // more specific kernels, "kernel: why not"
  double flops = 0;                          // as in StepEvent
  double bytes = 0;
};

// Consecutive steps that look no farther around a pixel than `halo` pixels of the video, or at the
// whole frame.
struct SegmentDescription {
  int64_t first_step = 0;
  int64_t steps = 0;
  bool whole_frame = false;
  int64_t halo = 0;
};

// How an entry is computed: as compiled, and for one size of video.
struct PlanDescription {
  std::string entry;
  std::string target;
  DType dtype = DType::kFloat32;  // of the operands, by the policy
  std::string fingerprint;        // that modules record
  int64_t latent_frames = 1;      // computed together
  std::vector<SegmentDescription> segments;
  std::vector<StepDescription> steps;
  std::vector<BufferDescription> buffers;
  std::vector<ConstantDescription> constants;
  double flops = 0;  // of all steps
  double bytes = 0;
  // Of the whole video: its first step and those that follow.
  double video_flops = 0;            // as planned
  double video_published_flops = 0;  // as Autoencoder::arithmetic_encode and _decode say
  MemoryNeeded memory;               // of a Stream
};

struct PlanRequest {
  std::string entry = "decode.next";
  int64_t height = 256;  // of the video
  int64_t width = 256;
  int64_t frames = 17;        // of the video, 4k + 1
  int64_t latent_frames = 1;  // computed together; of "first" always 1
};

// Throws as describe_graphs, and kInvalidArgument for a size that the model does not take.
ZOETROPE_API PlanDescription describe_plan(const std::string& weights, const PlanRequest& request,
                                           const LoadOptions& options = {});

// Files that convert() writes. kDiffusers is a folder.
enum class CheckpointFormat : uint8_t { kSafetensors, kGguf, kIrpa, kDiffusers };

// What the model's project calls its tensors, and what diffusers does.
enum class TensorNaming : uint8_t { kPublished, kDiffusers };

struct ConvertOptions {
  // Empty: by the output's ending: .safetensors, .gguf, .irpa, or a / for a diffusers folder.
  std::optional<CheckpointFormat> format;
  // Of tensors of a floating type, rounded to nearest, ties to even. Empty: as they are.
  std::optional<DType> dtype;
  // Empty: as they are; of a diffusers folder, diffusers'.
  std::optional<TensorNaming> names;
  // Called after each tensor, with their number.
  std::function<void(int64_t done, int64_t total)> progress;
  // Polled before each tensor; true stops with Error kCancelled, and nothing is written.
  std::function<bool()> cancelled;
};

struct Conversion {
  std::string format;  // of what was read, as in CheckpointDescription
  int64_t tensors = 0;
  int64_t bytes = 0;       // of all tensors, as written
  int64_t renamed = 0;     // tensors
  int64_t not_finite = 0;  // values that are NaN or infinite, written as they are
  // Tensors that belong to no layer of the model, by the names they were written under. Empty too
  // if the model is not known.
  std::vector<std::string> unknown;
  // What the result does not hold, as a sentence; empty: all is there.
  std::string lost;
};

// Writes every tensor of the checkpoint `weights` to `output`, which appears when it is whole and
// takes the place of what is there; a folder is replaced only by a diffusers folder, and only if it
// was one. The same checkpoint and options give the same bytes. Throws kCheckpoint, kIo,
// kInvalidArgument for a format that cannot hold a tensor, a value too large for `dtype` or a name
// that two tensors would have, kUnsupported for a module, and if names or a folder of a model are
// asked of tensors that are not that model's.
ZOETROPE_API Conversion convert(const std::string& weights, const std::string& output,
                                const ConvertOptions& options = {});

}  // namespace v0
}  // namespace zoetrope
