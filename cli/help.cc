// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace zoetrope::cli {

const char* const kOverview =
    "Turns video into the latents of the Wan2.1 video autoencoder, and latents into video.";

const char* const kOverviewExamples =
    R"(  zoetrope encode clip.mp4 -o clip.safetensors --weights wan_2.1_vae.safetensors
  zoetrope decode clip.safetensors -o again.mp4 --weights wan_2.1_vae.safetensors
  zoetrope roundtrip clip.mp4 -o again.mp4 --weights random:8     (to try it without weights)
)";

const char* const kEncodeExamples =
    R"(  zoetrope encode clip.mp4 -o clip.safetensors --weights wan_2.1_vae.safetensors
  zoetrope encode videos/*.mp4 -o latents/ --fps 16 --json       (weights: ZOETROPE_WEIGHTS)
  zoetrope encode videos/*.mp4 -o 'latents/{}.latent'            (for ComfyUI, named by the input)
  ffmpeg -v error -i clip.mov -vf scale=832:480 -f yuv4mpegpipe - | zoetrope encode - -o clip.npy
)";

const char* const kDecodeExamples =
    R"(  zoetrope decode clip.safetensors -o clip.mp4 --weights wan_2.1_vae.safetensors
  zoetrope decode sampled.npy -o sampled.mkv --fps 16            (.mkv is lossless)
  zoetrope decode clip.safetensors -o frames/                    (frames/frame_000001.png ...)
  zoetrope decode clip.latent -o - | ffplay -
)";

const char* const kRoundtripExamples =
    R"(  zoetrope roundtrip clip.mp4 -o again.mp4 --weights wan_2.1_vae.safetensors
  zoetrope roundtrip photo.png -o photo-again.png
  zoetrope roundtrip clip.mp4 -o again.mkv --frames 0:81 --json
)";

const char* const kInspectExamples =
    R"(  zoetrope inspect wan_2.1_vae.safetensors --tensors
  zoetrope inspect clip.safetensors
  zoetrope inspect Wan2.1_VAE.pth --json | jq .parameters
  zoetrope inspect Wan2.1_VAE.pth --plan decode.next --size 832x480 --frames 81
  zoetrope inspect random --plan encode.next --target cuda-sm90 --dtype float16
  zoetrope inspect random --graph decode.next --pass fuse-norm
)";

const char* const kCompileExamples =
    R"(  zoetrope compile --weights Wan2.1_VAE.pth -o wan.zoe             (for the best device here)
  zoetrope decode clip.safetensors -o clip.mp4 --weights wan.zoe
  zoetrope compile --weights Wan2.1_VAE.pth --target cpu-avx2 --only decode -o decoder.zoe
  zoetrope compile --weights Wan2.1_VAE.pth --target cuda-sm90 --dtype float16 -o h100.zoe

A module holds the weights as the kernels of one target read them: it is mapped, not packed, when it
is loaded. Targets need not be here: cpu-avx3-bf16, cpu-avx3-bf16-expanded (processors on which
float32 multiplies faster than bfloat16), cpu-avx3 (AVX-512 without bfloat16), cpu-avx2, cpu-sse4,
cuda-sm80 and so on; `zoetrope inspect` names the one of a module.
)";

const char* const kConvertExamples =
    R"(  zoetrope convert Wan2.1_VAE.pth -o wan_2.1_vae.safetensors --dtype bfloat16
  zoetrope convert Wan2.1_VAE.pth -o vae/                        (a diffusers folder)
  zoetrope convert vae/ -o wan_2.1_vae.gguf --names published --dtype float16
  zoetrope convert wan_2.1_vae.safetensors -o vae.irpa           (for iree-run-module --parameters)

Every tensor is kept, also those that the model does not use. A value too large for the new type is
refused, and an output appears under its name when it is whole.
)";

const char* const kCheckExamples =
    R"(  zoetrope check --weights wan_2.1_vae.safetensors               (16-bit against float32)
  zoetrope check clip.mp4 --weights wan_2.1_vae.safetensors --size 256x256
  zoetrope check --device cuda --against cpu,float32
  zoetrope check --dtype float32 --disable-pass fuse-norm        (against every pass on)

Runs the model two ways over one clip and compares what each step makes, matched by the published
layer's name. Both decode the latents that the reference encoded. A row for each step:
  rms, max error  of its values, over all frames
  largest         absolute value on the reference's side
  rms/rms         rms error over the rms of the reference's values
  max/largest     max error over the largest value; <-- marks what is out of bounds
Exit status 1 if anything is.
)";

const char* const kBenchExamples =
    R"(  zoetrope bench decode --weights random                         (made-up weights, full size)
  zoetrope bench encode --frames 81 --size 832x480 --dtype bfloat16 --json old.json
  zoetrope bench encode --frames 81 --size 832x480 --dtype bfloat16 --baseline old.json
  compare.py benchmarks old.json new.json                        (Google Benchmark's)
  zoetrope bench decode --sweep --size 256x256,512x512 --frames 17,33,81

Frames and latents are random, so no file is read but the weights. Before the clock starts, outputs
are checked to be finite and two runs to give the same bits. A row for each repetition, then their
mean, median, standard deviation and coefficient of variation (cv):
  Time, CPU       from the first frame pushed to the last result; seconds of all threads together
  first output    from the first frame pushed to the first result
  peak memory     largest resident size of the process so far
  library         bytes that weights, histories and values take, as planned
  TFLOP/s         the published model's arithmetic over the time; what is saved counts as done
  of peak         the same over the machine's peak: a loop of its best instruction on registers,
                  timed between the repetitions
)";

const char* const kProfileExamples =
    R"(  zoetrope profile decode --weights random
  zoetrope profile encode --size 832x480 --dtype bfloat16 --by kernel
  zoetrope profile decode --by step --json - --quiet | jq '.profile.rows[:5]'
  zoetrope profile decode --html report.html --trace trace.json --json old.json
  zoetrope profile decode --html report.html --baseline old.json

A row for each group of steps, the slowest first; convs and other steps are also summed up apart:
  calls, ms       steps run and the time they took in one run; copy_in and copy_out are the copies
                  between frames or latents and the model's values
  share           of the whole time; with the time outside steps it sums to 100 %
  GFLOP, GB       multiplications and additions of the steps as planned; operands, results and
                  weights, once. Convs named winograd get by with 4/9 of them, those named
                  winograd3d with 8/27, and so may pass 100 %
  of roofline     the time that the machine's peak and its memory, both measured in the same run,
                  would allow at least, over the time taken
)";

const char* const kDevicesExamples =
    R"(  zoetrope devices
  zoetrope devices --json
)";

const char* const kWeightsHelp =
    "a .safetensors, .pth, .gguf or .irpa checkpoint, a diffusers folder, a module of `zoetrope "
    "compile`, or random[:base_dim[:seed]] for made-up weights (default: the environment variable "
    "ZOETROPE_WEIGHTS)";
const char* const kCheckpointHelp =
    "a .safetensors, .pth, .gguf or .irpa checkpoint, a diffusers folder, or "
    "random[:base_dim[:seed]] for made-up weights (default: the environment variable "
    "ZOETROPE_WEIGHTS)";
const char* const kConvertInputHelp =
    "a .safetensors, .pth, .gguf or .irpa checkpoint, a diffusers folder, or "
    "random[:base_dim[:seed]]";
const char* const kConvertOutputHelp =
    ".safetensors, .gguf, .irpa (a parameter archive of IREE) or folder/ (diffusers': config.json "
    "and diffusion_pytorch_model.safetensors)";
const char* const kVideoInputHelp =
    "video, image, folder of images, .npy or .safetensors array, or - for y4m on standard input";
const char* const kVideoOutputHelp =
    ".mp4 (H.264), .mkv (lossless), .y4m, .png (one frame), a folder/ of .png, .npy or "
    ".safetensors (float32 [3,T,H,W]), or - for y4m on standard output. With many inputs: a "
    "folder for .mp4 files, or a name with {}, which stands for the input's name";
const char* const kLatentInputHelp = ".safetensors or .npy latents [C,T,H,W], or ComfyUI's .latent";
const char* const kLatentOutputHelp =
    ".safetensors, .npy (float32 [C,T,H,W]) or .latent (ComfyUI). With many inputs: a folder for "
    ".safetensors files, or a name with {}, which stands for the input's name";
const char* const kInspectInputHelp =
    "checkpoint, module, diffusers folder, random[:base_dim[:seed]], latent file, video or image";

namespace {

constexpr size_t kPageWidth = 100;
constexpr size_t kNameWidth = 26;

// `name` in the left column, `text` wrapped in the right one.
std::string entry(const std::string& name, std::string_view text) {
  std::string page = fmt::format("  {:<{}}", name, kNameWidth - 2);
  size_t column = std::max(kNameWidth, name.size() + 2);
  if (column > kNameWidth) {
    page += fmt::format("\n{:<{}}", "", kNameWidth);
    column = kNameWidth;
  }
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column + word.size() + 1 > kPageWidth) {
      page += fmt::format("\n{:<{}}", "", kNameWidth);
      column = kNameWidth;
    }
    const bool first = column == kNameWidth;
    page += first ? "" : " ";
    page += word;
    column += word.size() + (first ? 0 : 1);
  }
  return page + "\n";
}

std::string option_name(const CLI::Option* option) {
  if (option->get_positional()) return option->get_name(true, false);
  std::string name = option->get_snames().empty() ? "" : "-" + option->get_snames()[0] + ", ";
  name += "--" + option->get_lnames().at(0);
  return option->get_type_size() == 0 ? name : name + " " + option->get_type_name();
}

std::string usage(const CLI::App* app) {
  if (app->get_parent() == nullptr) return "usage: zoetrope COMMAND [OPTION...]\n";
  std::string line = "usage: zoetrope " + app->get_name();
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true, false);
    const bool many = name == "INPUT" || app->get_name() == "inspect";
    const bool optional = name == "CLIP";
    line += optional ? " [" + name + "]" : " " + name + (many ? "..." : "");
  }
  if (app->get_option_no_throw("--output") != nullptr) line += " -o OUTPUT";
  return line + " [OPTION...]\n";
}

std::string section(const CLI::App* app, const std::string& group) {
  std::string text = "\n" + group + ":\n";
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group() != group) continue;
    text += entry(option_name(option), option->get_description());
  }
  return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  std::string page = app->get_description() + "\n\n" + usage(app);
  page += "\nExamples:\n" + app->get_footer();
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
  if (!commands.empty()) page += "\nCommands (zoetrope COMMAND --help says more):\n";
  for (const CLI::App* command : commands) {
    page += entry(command->get_name(), command->get_description());
  }
  // What every page has stands last.
  const std::string last = app->get_help_ptr()->get_group();
  for (const std::string& group : app->get_groups()) {
    if (group != last) page += section(app, group);
  }
  page += section(app, last);
  if (app->get_parent() == nullptr) {
    page +=
        "\nExit status: 0 done, 1 --expect or check found a difference, 2 wrong usage, 3 input or "
        "output,\n4 weights, 5 unsupported, 6 memory, 7 device, 8 some of many inputs failed, 70 a "
        "bug,\n130 interrupted.\n";
  }
  return page;
}

}  // namespace zoetrope::cli
