// SPDX-License-Identifier: Apache-2.0
#include "cli/command_options.h"

#include <CLI/CLI.hpp>
#include <string>

#include "cli/help.h"

namespace zoetrope::cli {
namespace {

constexpr const char* kInputs = "Inputs and outputs";
constexpr const char* kVideo = "Video";
constexpr const char* kFitting = "Sizes and frame counts that do not fit";
constexpr const char* kLatents = "Latents";
constexpr const char* kModel = "Model";
constexpr const char* kChecking = "Checking";
constexpr const char* kJob = "What is measured";
constexpr const char* kCompiled = "How a model is compiled";

void option(CLI::App* command, const char* group, const char* name, const char* value,
            std::string& target, const char* text) {
  // CLI11 takes any next word for the value.
  const auto missing = [](const std::string& word) -> std::string {
    return word.starts_with("--") ? "expected a value, found " + word : "";
  };
  command->add_option(name, target, text)->type_name(value)->group(group)->check(missing);
}

void flag(CLI::App* command, const char* group, const char* name, bool& target, const char* text) {
  command->add_flag(name, target, text)->group(group);
}

void add_inputs(CLI::App* command, TypedOptions& typed, const char* input, const char* output) {
  command->add_option("INPUT", typed.inputs, input)->group(kInputs)->type_name("");
  option(command, kInputs, "-o,--output", "OUTPUT", typed.output, output);
  option(command, kInputs, "--files-from", "FILE", typed.files_from,
         "more inputs, one a line; - reads the list from standard input");
  flag(command, kInputs, "-y,--overwrite", typed.overwrite,
       "replace an existing output; with many inputs, make finished outputs again");
}

void add_device(CLI::App* command, TypedOptions& typed) {
  option(command, kModel, "--device", "NAME", typed.device,
         "auto, cpu, cuda or cuda:N (default auto); `zoetrope devices` lists them");
  const std::string& name = command->get_name();
  if (name == "compile" || name == "inspect") {
    option(command, kModel, "--target", "NAME", typed.target,
           "instead of a device, what kernels are for, e.g. cpu-avx2 or cuda-sm90; it need not be "
           "here");
  } else if (name == "bench" || name == "profile") {
    option(command, kModel, "--target", "NAME", typed.target,
           "instead of a device, what kernels are for, where it is not the best that runs here, "
           "e.g. cpu-avx2 or cuda-sm80");
  }
  option(command, kModel, "--dtype", "TYPE", typed.dtype,
         "operand type: auto, float32, bfloat16 or, on GPUs, float16 (where the weights prove its "
         "range, bfloat16 elsewhere); auto is bfloat16 where the device multiplies it");
  if (name == "encode" || name == "roundtrip" || name == "compile") {
    option(command, kModel, "--encode-dtype", "TYPE", typed.encode_dtype, "the encoder's alone");
  }
  if (name == "decode" || name == "roundtrip" || name == "compile") {
    option(command, kModel, "--decode-dtype", "TYPE", typed.decode_dtype, "the decoder's alone");
  }
  command
      ->add_option("--disable-pass", typed.disabled_passes,
                   "leave out a compiler pass, to find out whether it is at fault; repeatable")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(kModel);
}

void add_weights(CLI::App* command, TypedOptions& typed) {
  const std::string& name = command->get_name();
  const bool unpacked = name == "compile" || name == "check";
  option(command, kModel, "--weights", "W", typed.weights,
         unpacked ? kCheckpointHelp : kWeightsHelp);
  add_device(command, typed);
}

void add_threads(CLI::App* command, TypedOptions& typed) {
  option(command, kModel, "--threads", "N", typed.threads,
         "worker threads (default 0: one per core); results do not depend on it");
}

void add_model(CLI::App* command, TypedOptions& typed) {
  add_weights(command, typed);
  add_threads(command, typed);
  option(command, kModel, "--memory-limit", "SIZE", typed.memory_limit,
         "for weights and work together, e.g. 4GiB or 500MB; refuses at once what cannot fit");
  option(command, kModel, "--frames-per-step", "N", typed.frames_per_step,
         "latent frames computed together, 1 to 8 (default 0: what suits the device); results do "
         "not depend on it, memory does");
}

void add_reading(CLI::App* command, TypedOptions& typed) {
  option(command, kVideo, "--frames", "A:B", typed.frames,
         "only frames A up to, not including, B; counted from 0, after --fps");
  option(command, kVideo, "--size", "WxH", typed.size,
         "scale to WxH pixels, e.g. 832x480, also if that changes the aspect ratio; latents record "
         "this size, and decode gives it back (default: the input's own)");
  option(command, kVideo, "--fps", "RATE", typed.fps,
         "resample a video to RATE by time, e.g. 16 or 24000/1001; images and arrays: their rate "
         "(default: the input's own, else 16)");
  option(command, kVideo, "--matrix", "NAME", typed.matrix,
         "YUV colours are bt601 or bt709, whatever the file says (default: its tags; untagged is "
         "bt709 from 720 lines up, else bt601)");
  option(command, kVideo, "--alpha", "HOW", typed.alpha,
         "transparent inputs: drop the alpha, or put them on black or white (default: refuse)");
  option(command, kVideo, "--layout", "AXES", typed.layout,
         "of .npy and .safetensors videos: thwc, tchw or cthw (default: cthw for float, thwc for "
         "uint8)");
  option(command, kVideo, "--range", "NAME", typed.range,
         "of .npy and .safetensors videos: signed (-1 to 1), unit (0 to 1) or bytes (0 to 255) "
         "(default: by type; refuses floats that may be either)");
}

void add_fitting(CLI::App* command, TypedOptions& typed) {
  if (command->get_name() == "encode") {
    option(command, kFitting, "--fit-frames", "HOW", typed.fit_frames,
           "the model takes 4k+1 frames: pad (repeat the last frame), trim, or refuse (default: "
           "pad if the output records the original count, which decode restores, else refuse)");
    option(command, kFitting, "--fit-size", "HOW", typed.fit_size,
           "the model takes multiples of 8 pixels: pad (repeat the right and bottom edge), crop "
           "(to the middle), or refuse (default: as for --fit-frames)");
    return;
  }
  option(command, kFitting, "--fit-frames", "HOW", typed.fit_frames,
         "the model takes 4k+1 frames: pad (repeat the last frame; cut off again at the end), "
         "trim, or refuse (default pad)");
  option(command, kFitting, "--fit-size", "HOW", typed.fit_size,
         "the model takes multiples of 8 pixels: pad (repeat the right and bottom edge; cut off "
         "again at the end), crop (to the middle), or refuse (default pad)");
}

void add_checking(CLI::App* command, TypedOptions& typed, const char* reference) {
  option(command, kChecking, "--expect", "REF", typed.expect, reference);
  option(command, kChecking, "--tolerance", "X", typed.tolerance,
         "largest error allowed, as a share of REF's largest value (default 1e-5)");
}

void add_debugging(CLI::App* command, TypedOptions& typed) {
  flag(command, kChecking, "--check-finite", typed.check_finite,
       "stop at the first step that makes NaN or infinity, and say whether the input or the "
       "weights are at fault");
  option(command, kChecking, "--dump", "DIR", typed.dump,
         "write values to DIR/NAME.FIRST-LAST.npy, float32 [frames, height, width, channels]; "
         "FIRST and LAST count the value's frames from 0");
  option(command, kChecking, "--steps", "GLOB", typed.steps,
         "which: names of the published layers, with * and ?, e.g. 'decoder.middle.*'");
}

void add_progress(CLI::App* command, TypedOptions& typed) {
  option(command, kReport, "--progress", "KIND", typed.progress,
         "auto, bar, lines, json or none, on standard error (default auto: a bar on a terminal)");
  flag(command, kReport, "--quiet", typed.quiet, "say nothing but errors");
}

void add_report(CLI::App* command, TypedOptions& typed) {
  add_progress(command, typed);
  flag(command, kReport, "--json", typed.json,
       "a JSON object, one line, for each input on standard output");
}

void add_encode(CLI::App* command, TypedOptions& typed) {
  add_inputs(command, typed, kVideoInputHelp, kLatentOutputHelp);
  add_reading(command, typed);
  add_fitting(command, typed);
  option(command, kLatents, "--latent-scale", "SCALE", typed.latent_scale,
         "normalized ((mean - latents_mean) / latents_std, what diffusion models take) or raw (the "
         "mean) (default: normalized; .latent is always raw)");
  flag(command, kLatents, "--posterior", typed.posterior,
       "also write the raw `mean` and `logvar`, for training; .safetensors only");
  add_model(command, typed);
  add_checking(command, typed, "compare with these latents; exit status 1 if they differ");
  add_debugging(command, typed);
  add_report(command, typed);
}

void add_decode(CLI::App* command, TypedOptions& typed) {
  add_inputs(command, typed, kLatentInputHelp, kVideoOutputHelp);
  flag(command, kInputs, "--keep-partial", typed.keep_partial,
       "if decoding fails or is interrupted, keep the frames so far under NAME.partial.EXT");
  option(command, kVideo, "--fps", "RATE", typed.fps,
         "of the output (default: what the latents record, else 16)");
  flag(command, kVideo, "--no-clamp", typed.no_clamp,
       "do not clamp to [-1, 1]; for .npy and .safetensors");
  option(command, kLatents, "--latent-scale", "SCALE", typed.latent_scale,
         "normalized or raw, for files that do not record it (default: normalized; .latent is "
         "always raw)");
  add_model(command, typed);
  add_checking(command, typed, "compare with this video; exit status 1 if they differ");
  add_debugging(command, typed);
  add_report(command, typed);
}

void add_roundtrip(CLI::App* command, TypedOptions& typed) {
  add_inputs(command, typed, kVideoInputHelp, kVideoOutputHelp);
  add_reading(command, typed);
  flag(command, kVideo, "--no-clamp", typed.no_clamp,
       "do not clamp to [-1, 1]; for .npy and .safetensors");
  add_fitting(command, typed);
  add_model(command, typed);
  add_checking(command, typed, "compare with this video; exit status 1 if they differ");
  add_debugging(command, typed);
  add_report(command, typed);
}

void add_inspect(CLI::App* command, TypedOptions& typed) {
  command->add_option("FILE", typed.inputs, kInspectInputHelp)->group(kInputs)->type_name("");
  option(command, kCompiled, "--graph", "ENTRY", typed.graph,
         "instead, the Graph of encode.first, encode.next, decode.first or decode.next after all "
         "passes, and what each pass did");
  option(command, kCompiled, "--pass", "NAME", typed.pass,
         "the Graph before and after this pass (of --graph; default decode.next)");
  option(command, kCompiled, "--plan", "ENTRY", typed.plan,
         "instead, the Plan of an entry: segments, steps, their kernels and which others refused, "
         "buffers, arithmetic and memory");
  option(command, kCompiled, "--size", "WxH", typed.size, "of the video (default 256x256)");
  option(command, kCompiled, "--frames", "N", typed.frames, "of the video: 4k+1 (default 17)");
  option(command, kCompiled, "--frames-per-step", "N", typed.frames_per_step,
         "latent frames computed together, 1 to 8 (default 1)");
  add_device(command, typed);
  flag(command, kReport, "--tensors", typed.list_tensors, "list every tensor of a checkpoint");
  flag(command, kReport, "--json", typed.json, "one JSON object on standard output");
}

void add_compile(CLI::App* command, TypedOptions& typed) {
  option(command, kInputs, "-o,--output", "MODULE", typed.output, "the module, e.g. model.zoe");
  flag(command, kInputs, "-y,--overwrite", typed.overwrite, "replace an existing output");
  add_weights(command, typed);
  option(command, kModel, "--only", "HALF", typed.only, "encode or decode: that half alone");
  add_progress(command, typed);
  flag(command, kReport, "--json", typed.json, "one JSON object on standard output");
}

void add_convert(CLI::App* command, TypedOptions& typed) {
  command->add_option("FILE", typed.inputs, kConvertInputHelp)->group(kInputs)->type_name("");
  option(command, kInputs, "-o,--output", "OUTPUT", typed.output, kConvertOutputHelp);
  option(command, kInputs, "--to", "FORMAT", typed.format,
         "safetensors, gguf, irpa or diffusers (default: by the ending of OUTPUT)");
  flag(command, kInputs, "-y,--overwrite", typed.overwrite, "replace an existing output");
  option(command, kModel, "--dtype", "TYPE", typed.dtype,
         "store tensors as float32, bfloat16 or float16, rounded to nearest (default: as they are; "
         "integers always are)");
  option(command, kModel, "--names", "NAMES", typed.naming,
         "published or diffusers (default: as they are; a diffusers folder has diffusers')");
  add_report(command, typed);
}

void add_check(CLI::App* command, TypedOptions& typed) {
  command
      ->add_option("CLIP", typed.inputs,
                   "video, image, folder of images or array, as for encode (default: made up)")
      ->group(kInputs)
      ->type_name("");
  option(command, kInputs, "--frames", "N", typed.frames,
         "of the clip's frames, the first N, down to 4k+1 (default 9)");
  option(command, kInputs, "--size", "WxH", typed.size,
         "scale the clip to WxH pixels, or make one up of that size (default: the clip's own, or "
         "128x128); a step's values are held in memory");
  option(command, kChecking, "--against", "SIDE", typed.against,
         "the reference: a type, a device, or both, e.g. float32 or cpu,float32 (default float32; "
         "with --disable-pass, the same with every pass on)");
  option(command, kChecking, "--tolerance", "X", typed.tolerance,
         "largest error allowed in any step: max/largest between two float32 sides (default "
         "2e-5), else rms/rms (default 0.036)");
  add_weights(command, typed);
  add_threads(command, typed);
  add_progress(command, typed);
  flag(command, kReport, "--json", typed.json, "one JSON object on standard output");
}

// `repetitions` and `json`: their help.
void add_measured(CLI::App* command, TypedOptions& typed, const char* repetitions,
                  const char* json) {
  command->add_option("encode|decode", typed.coding, "which half of the model runs")
      ->group(kJob)
      ->type_name("");
  option(command, kJob, "--frames", "N", typed.frames, "of the made-up video: 4k+1 (default 17)");
  option(command, kJob, "--size", "WxH", typed.size,
         "of the video in pixels, for decode too: multiples of 8 (default 256x256)");
  if (command->get_name() == "bench") {
    flag(command, kJob, "--sweep", typed.sweep,
         "run every frame count at every size, a row each: --frames and --size take lists "
         "(defaults: 1,5,9,17,33 and 64x64,128x128,192x192; one run each, no warm-up)");
  }
  option(command, kJob, "--repetitions", "N", typed.repetitions, repetitions);
  option(command, kJob, "--warmup", "N", typed.warmup,
         "runs of the same job before, that do not count (default 1)");
  option(command, kJob, "--tensors", "PLACE", typed.tensors,
         "of video and latents: host (float32), bytes (on the host, as video files have them) or "
         "device (float32, all of it at once) (default host)");
  option(command, kReport, "--json", "FILE", typed.json_file, json);
  flag(command, kReport, "-y,--overwrite", typed.overwrite, "replace existing files");
}

void add_bench(CLI::App* command, TypedOptions& typed) {
  add_measured(command, typed, "timed runs, a row each (default 5)",
               "also write the results as Google Benchmark does, for its compare.py; - prints them "
               "on standard output, and the table on standard error");
  option(command, kReport, "--baseline", "OLD", typed.baseline,
         "print ratios to the results of the same job that --json wrote earlier");
  add_model(command, typed);
  add_progress(command, typed);
}

void add_profile(CLI::App* command, TypedOptions& typed) {
  add_measured(command, typed, "runs that are measured; their mean is shown (default 1)",
               "also write the profile as JSON; - prints it on standard output, and the table on "
               "standard error");
  option(command, kReport, "--by", "ROW", typed.row,
         "what a row stands for: layer (kernel and shape), kernel, or step (each on its own, by "
         "its published name) (default layer)");
  option(command, kReport, "--trace", "FILE", typed.trace,
         "also write the last run in the Chrome trace event format, for https://ui.perfetto.dev: "
         "entries, steps, copies and memory over time");
  option(command, kReport, "--html", "FILE", typed.html,
         "also write a page with the slowest steps, the roofline, the time line of one entry and "
         "memory over time; it needs no network");
  option(command, kReport, "--baseline", "OLD", typed.baseline,
         "compare step by step with the profile of the same job that --json wrote earlier, here "
         "and on the page");
  add_model(command, typed);
  add_progress(command, typed);
}

const CommandEntry kCommands[] = {
    {Command::kEncode, "encode", "Video to latents", kEncodeExamples, add_encode},
    {Command::kDecode, "decode", "Latents to video", kDecodeExamples, add_decode},
    {Command::kRoundtrip, "roundtrip", "Encode and decode, and say how close the result is",
     kRoundtripExamples, add_roundtrip},
    {Command::kInspect, "inspect",
     "Say what a checkpoint, latents or a video hold, and how a model is compiled",
     kInspectExamples, add_inspect},
    {Command::kCompile, "compile", "Pack weights for a device, once, into a module",
     kCompileExamples, add_compile},
    {Command::kConvert, "convert", "Write a checkpoint in another format, type or naming",
     kConvertExamples, add_convert},
    {Command::kCheck, "check",
     "Compare two types, devices or compilations of a model, step by step", kCheckExamples,
     add_check},
    {Command::kBench, "bench", "Measure how fast and in how much memory this machine codes",
     kBenchExamples, add_bench},
    {Command::kProfile, "profile", "Tell where the time of encoding or decoding goes",
     kProfileExamples, add_profile},
    {Command::kDevices, "devices", "List the devices that can compute here", kDevicesExamples,
     [](CLI::App* command, TypedOptions& typed) {
       flag(command, kReport, "--json", typed.json, "a JSON object, one line, for each device");
     }},
};

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace zoetrope::cli
