// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "media/video.h"
#include "zoetrope/autoencoder.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

enum class Command : uint8_t {
  kEncode,
  kDecode,
  kRoundtrip,
  kInspect,
  kCompile,
  kConvert,
  kCheck,
  kBench,
  kProfile,
  kDevices
};

enum class FitFrames : uint8_t { kPad, kTrim, kRefuse };
enum class FitSize : uint8_t { kPad, kCrop, kRefuse };

enum class ProgressKind : uint8_t { kAuto, kBar, kLines, kJson, kNone };

// What a row of a profile stands for.
enum class ProfileRow : uint8_t { kLayer, kKernel, kStep };

// Where the video and the latents lie that bench and profile push: on the host as float32, or as
// bytes, which video files have, or in the device's memory as float32.
enum class TensorPlace : uint8_t { kHost, kBytes, kDevice };

// What bench and profile run, and where the numbers go.
struct MeasureOptions {
  bool decode = false;  // else encode
  int64_t frames = 17;  // of the video
  media::FrameSize size = {256, 256};
  int64_t repetitions = 1;
  int64_t warmup = 1;
  TensorPlace tensors = TensorPlace::kHost;
  std::string json;      // a file, or "-" for standard output; empty: none
  std::string baseline;  // results of an earlier bench or profile
  ProfileRow row = ProfileRow::kLayer;
  std::string trace;  // of profile: files to write; empty: none
  std::string html;
  // Of bench: every frame count at every size; empty: no sweep.
  std::vector<int64_t> frame_counts;
  std::vector<media::FrameSize> sizes;
};

// What encode, decode and roundtrip do beside their work.
struct DebugOptions {
  bool check_finite = false;
  std::string dump;   // a folder; empty: nothing is dumped
  std::string steps;  // names of values, with * and ?
};

// What check compares, beside Options::load: how it differs from that.
struct CheckOptions {
  std::optional<std::string> device = {};
  std::optional<DType> dtype = {};
  std::optional<double> tolerance = {};
};

// What inspect shows of how a model is compiled.
struct CompiledOptions {
  std::string graph;  // an entry; empty: no Graph
  std::string pass;   // the Graph before and after it
  PlanRequest plan;   // entry empty: no Plan
};

struct Options {
  Command command = Command::kEncode;
  std::vector<std::string> inputs;
  std::string files_from;
  std::string output;
  bool overwrite = false;
  bool keep_partial = false;

  std::string weights;
  LoadOptions load;
  StreamOptions stream;  // height, width and format are set for each input

  media::ReadOptions reading;
  std::optional<LatentScale> latent_scale;
  bool posterior = false;
  std::optional<FitFrames> fit_frames;  // empty: pad where the output can record it, else refuse
  std::optional<FitSize> fit_size;

  std::string expect;
  double tolerance = 1e-5;

  DebugOptions debug;
  CheckOptions against;
  MeasureOptions measure;
  CompiledOptions compiled;
  ConvertOptions convert;

  ProgressKind progress = ProgressKind::kAuto;
  bool quiet = false;
  bool json = false;
  bool list_tensors = false;
};

// The options of a command line as they were typed; empty means not given.
struct TypedOptions {
  std::vector<std::string> inputs;
  std::string files_from, output;
  std::string weights, device, target, only, dtype, encode_dtype, decode_dtype, threads;
  std::string memory_limit, frames_per_step;
  std::vector<std::string> disabled_passes;
  std::string frames, fps, matrix, alpha, layout, range;
  std::string latent_scale, fit_frames, fit_size;
  std::string expect, tolerance, progress;
  std::string naming, format;
  std::string coding, size, repetitions, warmup, tensors, row, json_file, baseline;
  std::string graph, pass, plan;
  std::string dump, steps, against, trace, html;
  bool overwrite = false, keep_partial = false, posterior = false, no_clamp = false;
  bool quiet = false, json = false, list_tensors = false, check_finite = false, sweep = false;
};

// Throws kInvalidArgument for values that mean nothing, kUnsupported and kDevice for what this
// build and machine do not have.
Options interpret(Command command, const TypedOptions& typed);

}  // namespace zoetrope::cli
