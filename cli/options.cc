// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/fail.h"
#include "base/parse_number.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

int64_t parse_count(const char* option, const std::string& text, int64_t most, int64_t least = 0) {
  const std::optional<int64_t> value = parse_number<int64_t>(text);
  if (!value || *value < least || *value > most) {
    fail(ErrorCode::kInvalidArgument, "{} {}: expected a whole number from {} to {}", option, text,
         least, most);
  }
  return *value;
}

template <typename Value>
using Choices = std::vector<std::pair<std::string_view, Value>>;

template <typename Value>
Value choose(const char* option, const std::string& text, const Choices<Value>& choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty()                  ? ""
              : name == choices.back().first ? " or "
                                             : ", ") +
             std::string(name);
  }
  fail(ErrorCode::kInvalidArgument, "{} {}: expected {}", option, text, names);
}

DType parse_type(const char* option, const std::string& text) {
  static const Choices<DType> kTypes = {
      {"float32", DType::kFloat32}, {"bfloat16", DType::kBFloat16}, {"float16", DType::kFloat16}};
  return choose(option, text, kTypes);
}

std::optional<DType> parse_operand_type(const char* option, const std::string& text) {
  static const Choices<std::optional<DType>> kTypes = {{"auto", std::nullopt},
                                                       {"float32", DType::kFloat32},
                                                       {"bfloat16", DType::kBFloat16},
                                                       {"float16", DType::kFloat16}};
  return choose(option, text, kTypes);
}

// "4GiB", "1.5G", "300000k": k, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024.
int64_t parse_bytes(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> number = parse_number<double>(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);

  constexpr std::string_view kPrefixes = "kMGT";
  double scale = 1;
  bool known = unit.empty();
  if (!known) {
    const bool binary = unit.ends_with('i');
    if (binary) unit.remove_suffix(1);
    const char prefix = unit.empty()  ? 0
                        : unit == "K" ? 'k'
                        : unit == "m" ? 'M'
                        : unit == "g" ? 'G'
                                      : unit[0];
    const size_t power = kPrefixes.find(prefix);
    known = unit.size() == 1 && power != std::string_view::npos;
    if (known) scale = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  }
  // 2^62: far above any memory, far below what overflows.
  if (!number || !known || *number * scale < 1 || *number * scale > 4.6e18) {
    fail(ErrorCode::kInvalidArgument, "--memory-limit {}: expected a size such as 4GiB or 500MB",
         text);
  }
  return static_cast<int64_t>(*number * scale);
}

std::string parse_device(const std::string& text) {
  if (text.starts_with("cuda")) return text;  // the library says why there is none
  std::vector<std::string> known = {"auto"};
  for (const DeviceDescription& device : devices()) known.push_back(device.id);
  if (std::find(known.begin(), known.end(), text) == known.end()) {
    fail(ErrorCode::kDevice, "--device {}: no such device here: expected one of {}", text,
         fmt::join(known, ", "));
  }
  return text;
}

void interpret_model(const TypedOptions& typed, Options& options) {
  LoadOptions& load = options.load;
  const char* weights = std::getenv("ZOETROPE_WEIGHTS");
  options.weights = typed.weights.empty() && weights != nullptr ? weights : typed.weights;
  if (!typed.device.empty()) load.device = parse_device(typed.device);
  load.target = typed.target;
  if (!typed.target.empty() && !typed.device.empty()) {
    fail(ErrorCode::kInvalidArgument, "--target {} and --device {}: give one of them", typed.target,
         typed.device);
  }
  if (!typed.only.empty()) {
    static const Choices<bool> kHalves = {{"encode", false}, {"decode", true}};
    load.decoder = choose("--only", typed.only, kHalves);
    load.encoder = !load.decoder;
    const char* other = load.decoder ? "--encode-dtype" : "--decode-dtype";
    const std::string& dtype = load.decoder ? typed.encode_dtype : typed.decode_dtype;
    if (!dtype.empty()) {
      fail(ErrorCode::kInvalidArgument, "{} {}: that half is left out by --only {}", other, dtype,
           typed.only);
    }
  }
  if (!typed.dtype.empty()) {
    load.encode_dtype = load.decode_dtype = parse_operand_type("--dtype", typed.dtype);
  }
  if (!typed.encode_dtype.empty()) {
    load.encode_dtype = parse_operand_type("--encode-dtype", typed.encode_dtype);
  }
  if (!typed.decode_dtype.empty()) {
    load.decode_dtype = parse_operand_type("--decode-dtype", typed.decode_dtype);
  }
  if (!typed.threads.empty()) {
    load.threads = static_cast<int>(parse_count("--threads", typed.threads, 1024));
  }
  load.disabled_passes = typed.disabled_passes;
  if (!typed.frames_per_step.empty()) {
    options.stream.frames_per_step = parse_count("--frames-per-step", typed.frames_per_step, 8);
  }
  if (!typed.memory_limit.empty()) options.stream.memory_limit = parse_bytes(typed.memory_limit);
  options.stream.clamp = !typed.no_clamp;
}

void interpret_convert(const TypedOptions& typed, Options& options) {
  static const Choices<CheckpointFormat> kFormats = {
      {"safetensors", CheckpointFormat::kSafetensors},
      {"gguf", CheckpointFormat::kGguf},
      {"irpa", CheckpointFormat::kIrpa},
      {"diffusers", CheckpointFormat::kDiffusers}};
  static const Choices<TensorNaming> kNames = {{"published", TensorNaming::kPublished},
                                               {"diffusers", TensorNaming::kDiffusers}};
  ConvertOptions& convert = options.convert;
  if (!typed.format.empty()) convert.format = choose("--to", typed.format, kFormats);
  if (!typed.naming.empty()) convert.names = choose("--names", typed.naming, kNames);
  if (!typed.dtype.empty()) convert.dtype = parse_type("--dtype", typed.dtype);
}

bool measures(Command command) {
  return command == Command::kBench || command == Command::kProfile;
}

// --frames is the number of a clip, not a range of a video's.
bool counts_frames(Command command) {
  return measures(command) || command == Command::kCheck || command == Command::kInspect;
}

double parse_tolerance(const std::string& text) {
  const std::optional<double> tolerance = parse_number<double>(text);
  if (tolerance && std::isfinite(*tolerance) && *tolerance >= 0) return *tolerance;
  fail(ErrorCode::kInvalidArgument, "--tolerance {}: expected a number such as 1e-5", text);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    words.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// "float32", "cpu" or "cuda:1,float32": what is different on the other side.
CheckOptions parse_against(const std::string& text) {
  CheckOptions against;
  if (text.empty()) return against;
  for (const std::string& word : split(text)) {
    const bool device = word == "cpu" || word.starts_with("cuda");
    if (device ? against.device.has_value() : against.dtype.has_value()) {
      fail(ErrorCode::kInvalidArgument, "--against {}: expected one type and one device at most",
           text);
    }
    if (device) {
      against.device = word;
    } else {
      against.dtype = parse_type("--against", word);
    }
  }
  return against;
}

void interpret_check(const TypedOptions& typed, Options& options) {
  if (options.command != Command::kCheck) return;
  constexpr int64_t kMostFrames = 1'000;
  if (options.inputs.size() > 1) {
    fail(ErrorCode::kInvalidArgument, "{}: one argument too many. See zoetrope check --help",
         options.inputs[1]);
  }
  options.measure.frames = 9;
  options.measure.size = {128, 128};
  if (!typed.frames.empty()) {
    options.measure.frames = parse_count("--frames", typed.frames, kMostFrames, 1);
  }
  if (!typed.size.empty()) {
    options.measure.size = media::parse_frame_size(typed.size);
    options.reading.size = options.measure.size;
  }
  options.against = parse_against(typed.against);
  if (!typed.tolerance.empty()) options.against.tolerance = parse_tolerance(typed.tolerance);
}

void interpret_debugging(const TypedOptions& typed, Options& options) {
  options.debug = {.check_finite = typed.check_finite, .dump = typed.dump, .steps = typed.steps};
  if (typed.dump.empty() == typed.steps.empty()) return;
  fail(ErrorCode::kInvalidArgument,
       "--dump DIR and --steps GLOB belong together: one is where, the other which values, such as "
       "'decoder.middle.*'");
}

constexpr int64_t kMostMeasuredFrames = 1'000'000;

// Lists in place of --frames and --size.
void interpret_sweep(const TypedOptions& typed, MeasureOptions& measure) {
  if (!typed.baseline.empty()) {
    fail(ErrorCode::kInvalidArgument,
         "--baseline {}: is compared with one job, not with a --sweep of many", typed.baseline);
  }
  const std::string frames = typed.frames.empty() ? "1,5,9,17,33" : typed.frames;
  const std::string sizes = typed.size.empty() ? "64x64,128x128,192x192" : typed.size;
  for (const std::string& word : split(frames)) {
    measure.frame_counts.push_back(parse_count("--frames", word, kMostMeasuredFrames, 1));
  }
  for (const std::string& word : split(sizes)) {
    measure.sizes.push_back(media::parse_frame_size(word));
  }
  measure.repetitions = 1;
  measure.warmup = 0;
  measure.frames = measure.frame_counts.front();
  measure.size = measure.sizes.front();
}

void interpret_measure(const TypedOptions& typed, Options& options) {
  if (!measures(options.command)) return;
  const bool bench = options.command == Command::kBench;
  const char* name = bench ? "bench" : "profile";
  MeasureOptions& measure = options.measure;
  if (typed.coding != "encode" && typed.coding != "decode") {
    fail(ErrorCode::kInvalidArgument, "{}{}: expected encode or decode to follow", name,
         typed.coding.empty() ? "" : " " + typed.coding);
  }
  constexpr int64_t kMostRepetitions = 1'000;
  static const Choices<ProfileRow> kRows = {
      {"layer", ProfileRow::kLayer}, {"kernel", ProfileRow::kKernel}, {"step", ProfileRow::kStep}};
  measure.decode = typed.coding == "decode";
  measure.json = typed.json_file;
  measure.baseline = typed.baseline;
  measure.trace = typed.trace;
  measure.html = typed.html;
  if (bench) measure.repetitions = 5;
  if (typed.sweep) {
    interpret_sweep(typed, measure);
  } else {
    if (!typed.frames.empty()) {
      measure.frames = parse_count("--frames", typed.frames, kMostMeasuredFrames, 1);
    }
    if (!typed.size.empty()) measure.size = media::parse_frame_size(typed.size);
  }
  if (!typed.repetitions.empty()) {
    measure.repetitions = parse_count("--repetitions", typed.repetitions, kMostRepetitions, 1);
  }
  if (!typed.warmup.empty()) {
    measure.warmup = parse_count("--warmup", typed.warmup, kMostRepetitions);
  }
  if (!typed.row.empty()) measure.row = choose("--by", typed.row, kRows);
  static const Choices<TensorPlace> kPlaces = {{"host", TensorPlace::kHost},
                                               {"bytes", TensorPlace::kBytes},
                                               {"device", TensorPlace::kDevice}};
  if (!typed.tensors.empty()) measure.tensors = choose("--tensors", typed.tensors, kPlaces);
}

void interpret_inspect(const TypedOptions& typed, Options& options) {
  if (options.command != Command::kInspect) return;
  constexpr int64_t kMostFrames = 1'000'000'000;
  constexpr int64_t kMostLatentFrames = 8;
  if (!typed.plan.empty() && !(typed.graph + typed.pass).empty()) {
    fail(ErrorCode::kInvalidArgument, "--plan {}: give --plan or --graph and --pass, not both",
         typed.plan);
  }
  if (typed.list_tensors && !(typed.plan + typed.graph + typed.pass).empty()) {
    fail(ErrorCode::kInvalidArgument,
         "--tensors lists those of a checkpoint: leave it out with --plan, --graph and --pass");
  }
  if (typed.plan.empty() && !(typed.size + typed.frames + typed.frames_per_step).empty()) {
    fail(ErrorCode::kInvalidArgument,
         "--size, --frames and --frames-per-step mean something only with --plan");
  }
  const bool compiles = !(typed.plan + typed.graph + typed.pass).empty();
  const bool chooses = !(typed.device + typed.target + typed.dtype).empty();
  if (!compiles && (chooses || !typed.disabled_passes.empty())) {
    fail(ErrorCode::kInvalidArgument,
         "--device, --target, --dtype and --disable-pass mean something only with --plan or "
         "--graph");
  }
  CompiledOptions& compiled = options.compiled;
  compiled.graph = typed.graph.empty() && !typed.pass.empty() ? "decode.next" : typed.graph;
  compiled.pass = typed.pass;
  PlanRequest& plan = compiled.plan;
  plan.entry = typed.plan;
  if (!typed.frames.empty()) plan.frames = parse_count("--frames", typed.frames, kMostFrames, 1);
  if (!typed.frames_per_step.empty()) {
    plan.latent_frames =
        parse_count("--frames-per-step", typed.frames_per_step, kMostLatentFrames, 1);
  }
  if (!typed.size.empty()) {
    const media::FrameSize size = media::parse_frame_size(typed.size);
    plan.height = size.height;
    plan.width = size.width;
  }
}

void interpret_video(const TypedOptions& typed, Options& options) {
  media::ReadOptions& reading = options.reading;
  if (!typed.fps.empty()) reading.rate = media::parse_frame_rate(typed.fps);
  if (!typed.matrix.empty()) reading.matrix = media::parse_matrix(typed.matrix);
  if (!typed.alpha.empty()) reading.alpha = media::parse_alpha_policy(typed.alpha);
  const bool range = !counts_frames(options.command);
  if (range && !typed.frames.empty()) reading.range = media::parse_frame_range(typed.frames);
  if (range && !typed.size.empty()) reading.size = media::parse_frame_size(typed.size);
  if (!typed.layout.empty()) reading.array_layout = media::parse_layout(typed.layout);
  if (!typed.range.empty()) reading.array_range = media::parse_range(typed.range);

  static const Choices<FitFrames> kFitFrames = {
      {"pad", FitFrames::kPad}, {"trim", FitFrames::kTrim}, {"refuse", FitFrames::kRefuse}};
  static const Choices<FitSize> kFitSize = {
      {"pad", FitSize::kPad}, {"crop", FitSize::kCrop}, {"refuse", FitSize::kRefuse}};
  if (!typed.fit_frames.empty()) {
    options.fit_frames = choose("--fit-frames", typed.fit_frames, kFitFrames);
  }
  if (!typed.fit_size.empty()) options.fit_size = choose("--fit-size", typed.fit_size, kFitSize);
}

void interpret_output(const TypedOptions& typed, Options& options) {
  static const Choices<LatentScale> kScales = {{"normalized", LatentScale::kNormalized},
                                               {"raw", LatentScale::kRaw}};
  static const Choices<ProgressKind> kProgress = {{"auto", ProgressKind::kAuto},
                                                  {"bar", ProgressKind::kBar},
                                                  {"lines", ProgressKind::kLines},
                                                  {"json", ProgressKind::kJson},
                                                  {"none", ProgressKind::kNone}};
  if (!typed.latent_scale.empty()) {
    options.latent_scale = choose("--latent-scale", typed.latent_scale, kScales);
  }
  if (!typed.progress.empty()) options.progress = choose("--progress", typed.progress, kProgress);
  if (!typed.tolerance.empty()) {
    options.tolerance = parse_tolerance(typed.tolerance);
    if (typed.expect.empty() && options.command != Command::kCheck) {
      fail(ErrorCode::kInvalidArgument, "--tolerance {}: means something only with --expect REF",
           typed.tolerance);
    }
  }
}

}  // namespace

Options interpret(Command command, const TypedOptions& typed) {
  Options options;
  options.command = command;
  options.inputs = typed.inputs;
  options.files_from = typed.files_from;
  options.output = typed.output;
  options.overwrite = typed.overwrite;
  options.keep_partial = typed.keep_partial;
  options.posterior = typed.posterior;
  options.expect = typed.expect;
  options.quiet = typed.quiet;
  options.json = typed.json;
  options.list_tensors = typed.list_tensors;
  if (command == Command::kConvert) {
    interpret_convert(typed, options);
  } else {
    interpret_model(typed, options);
  }
  interpret_measure(typed, options);
  interpret_inspect(typed, options);
  interpret_check(typed, options);
  interpret_debugging(typed, options);
  interpret_video(typed, options);
  interpret_output(typed, options);
  return options;
}

}  // namespace zoetrope::cli
