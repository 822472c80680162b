// SPDX-License-Identifier: Apache-2.0
// --check-finite, --dump and check.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/checkpoint.h"
#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/support/golden.h"

namespace zoetrope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const GoldenFile& golden() {
  static const GoldenFile file("tiny/case_t9_32x48");
  return file;
}

// The tiny checkpoint with all values of one tensor of `magnitude`, each with its sign, after the
// first `from` of them.
std::string damaged_weights(const ScratchFolder& folder, const std::string& name,
                            float magnitude = 3e38F, double from = 0) {
  const auto checkpoint = open_checkpoint(data_file("wan_2.1_vae.safetensors"));
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    values.push_back(checkpoint->read(tensor.name));
    const size_t first = static_cast<size_t>(from * static_cast<double>(values.back().size()));
    for (size_t i = first; i < values.back().size() && tensor.name == name; ++i) {
      values.back()[i] = std::copysign(magnitude, values.back()[i]);
    }
    NamedTensor named;
    named.name = tensor.name;
    named.tensor.data = values.back().data();
    named.tensor.shape = tensor.shape;
    tensors.push_back(named);
  }
  const std::string path = folder.path("damaged.safetensors");
  write_safetensors(path, tensors, {});
  return path;
}

class Debugging : public ::testing::Test {
 protected:
  void SetUp() override {
    write_npy(folder_.path("video.npy"), golden().load("video"));
    latent_ = golden().load("latent");
    write_npy(folder_.path("latent.npy"), latent_);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  Finished decode(const std::string& latent, const Words& more) const {
    Words words = {"decode", path(latent), "-o", path("out.npy"), "-y"};
    words.insert(words.end(), more.begin(), more.end());
    return zoetrope_tiny(words);
  }

  ScratchFolder folder_;
  Array latent_;
};

TEST_F(Debugging, CheckFiniteSaysNothingOfWhatIsFinite) {
  EXPECT_EQ(decode("latent.npy", {"--check-finite"}).status, 0);
  const Array checked = read_npy(path("out.npy"));
  EXPECT_EQ(decode("latent.npy", {}).status, 0);
  EXPECT_TRUE(read_npy(path("out.npy")).values == checked.values);
  for (const char* command : {"encode", "roundtrip"}) {
    const Finished run =
        zoetrope_tiny({command, path("video.npy"), "-o", path("out.npy"), "-y", "--check-finite"});
    EXPECT_EQ(run.status, 0) << run.err;
  }
}

TEST_F(Debugging, CheckFiniteTellsBadLatents) {
  latent_.values[0] = 2e38F;  // finite, and infinite once it is denormalized
  write_npy(path("infinite.npy"), latent_);
  const Words finite = {"decode",        path("infinite.npy"), "-o",
                        path("out.npy"), "--check-finite",     "--quiet",
                        "--weights",     "random:8:2"};
  expect_failure(folder_.path(), 3,
                 "the latents hold infinity at frame 0, row 0, column 0, channel 0", finite);
  // Finite until conv2 sums them: each with the sign of its weight in the first row.
  const auto weights = open_checkpoint(data_file("wan_2.1_vae.safetensors"))->read("conv2.weight");
  const size_t frames = latent_.values.size() / 16;
  for (size_t i = 0; i < latent_.values.size(); ++i) {
    latent_.values[i] = std::copysign(1e38F, weights[i / frames]);
  }
  write_npy(path("large.npy"), latent_);
  Words large = finite;
  large[1] = path("large.npy");
  expect_failure(folder_.path(), 3, "on made-up latents these weights make finite values only",
                 large);
  expect_failure(folder_.path(), 3, "so the input is at fault: its largest value is 3.27e+38",
                 large);
}

TEST_F(Debugging, CheckFiniteTellsBadWeightsAndTheFirstStep) {
  const std::string weights = damaged_weights(folder_, "decoder.middle.0.residual.2.weight");
  const Words words = {"decode",  path("latent.npy"), "-o",    path("out.npy"), "--check-finite",
                       "--quiet", "--weights",        weights, "--dtype",       "float32"};
  expect_failure(folder_.path(), 4, "the weights are at fault", words);
  expect_failure(folder_.path(), 4, "is decoder.middle.0.residual.4 of decode.first (conv3d",
                 words);
  Words plain = words;
  plain.insert(plain.end(), {"--disable-pass", "fuse-norm"});
  expect_failure(folder_.path(), 4, "is decoder.middle.0.residual.2 of decode.first (conv3d",
                 plain);
}

TEST_F(Debugging, OutputsThatAreNotFiniteAreNoted) {
  for (size_t i = 0; i < latent_.values.size(); ++i) {
    if (i % 72 >= 24) latent_.values[i] = 3e38F;  // all but the first of three latent frames
  }
  write_npy(path("large.npy"), latent_);
  for (const char* output : {"out.npy", "out.mkv"}) {
    const Finished run = zoetrope_tiny(
        {"decode", path("large.npy"), "-o", path(output), "--latent-scale", "normalized"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr(fmt::format("note: {}: 36864 values came out NaN or infinite, "
                                               "the first in frame 1: --check-finite tells why",
                                               path(output))));
  }
  const Finished run = decode("large.npy", {"--json", "--quiet"});
  const json line = json::parse(run.out, nullptr, false);
  EXPECT_EQ(line.at("not_finite"), 36864);
  EXPECT_EQ(line.at("not_finite_first_frame"), 1);
  EXPECT_EQ(run.err, "");
  const Finished finite = decode("latent.npy", {"--json"});
  EXPECT_EQ(json::parse(finite.out, nullptr, false).at("not_finite_first_frame"), json());
  EXPECT_THAT(finite.err, Not(HasSubstr("NaN")));
  const std::string weights = damaged_weights(folder_, "encoder.middle.0.residual.2.weight");
  const Finished encoded =
      zoetrope({"encode", path("video.npy"), "-o", path("out.safetensors"), "--weights", weights});
  EXPECT_THAT(encoded.err, HasSubstr("the first in latent frame 0: --check-finite"));
}

// The first of the time convs makes every second pair of frames from the latter half of its weight.
TEST_F(Debugging, WhatIsNotFiniteInPaddingAloneIsNotNoted) {
  const std::string weights =
      damaged_weights(folder_, "decoder.upsamples.3.time_conv.weight", 3e38F, 0.5);
  for (const int64_t kept : {3, 4}) {
    const std::string latents = path(fmt::format("{}.safetensors", kept));
    const auto writer =
        media::open_latent_writer(latents, {.channels = 16, .height = 4, .width = 6});
    writer->write({.count = 2, .latent = latent_.values.data()});
    media::LatentSource source;
    source.frames = kept;
    writer->finish(source);
    const Finished run =
        zoetrope({"decode", latents, "-o", path("out.npy"), "-y", "--json", "--weights", weights});
    ASSERT_EQ(run.status, 0) << run.err;
    const json line = json::parse(run.out, nullptr, false);
    EXPECT_EQ(line.at("frames"), kept);
    EXPECT_EQ(line.at("not_finite") > 0, kept == 4);
    EXPECT_EQ(line.at("not_finite_first_frame"), kept == 4 ? json(3) : json());
    EXPECT_EQ(run.err.find("the first in frame 3") != std::string::npos, kept == 4) << run.err;
  }
}

TEST_F(Debugging, CheckFiniteTellsWhatOverflowsInANorm) {
  const std::string weights = damaged_weights(folder_, "decoder.middle.0.residual.6.weight", 1e25F);
  const Words words = {"decode",        path("latent.npy"), "-o",
                       path("out.npy"), "--quiet",          "--weights",
                       weights,         "--dtype",          "float32"};
  EXPECT_EQ(zoetrope(words).status, 0);
  Words checked = words;
  checked[3] = path("checked.npy");
  checked.emplace_back("--check-finite");
  expect_failure(folder_.path(), 4, "too large for norms, is decoder.middle.0", checked);
}

TEST_F(Debugging, CheckFiniteNamesTheInputAmongMany) {
  latent_.values[0] = 2e38F;
  write_npy(path("infinite.npy"), latent_);
  const Finished run = zoetrope_tiny({"decode", path("latent.npy"), path("infinite.npy"), "-o",
                                      path("{}.out.npy"), "--check-finite", "--quiet"});
  EXPECT_EQ(run.status, 8);
  EXPECT_THAT(run.err, HasSubstr("infinite.npy: the latents hold infinity"));
}

TEST_F(Debugging, DumpsValuesByNameAndFrames) {
  const Finished run = decode("latent.npy", {"--dump", path("dump"), "--steps", "decoder.head.?"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(names_in(path("dump")),
              ElementsAre("decoder.head.1.00000-00000.npy", "decoder.head.1.00001-00004.npy",
                          "decoder.head.1.00005-00008.npy", "decoder.head.2.00000-00000.npy",
                          "decoder.head.2.00001-00004.npy", "decoder.head.2.00005-00008.npy"));
  const Array last = read_npy(path("dump/decoder.head.2.00005-00008.npy"));
  EXPECT_EQ(last.shape, (std::vector<int64_t>{4, 32, 48, 3}));
  EXPECT_EQ(decode("latent.npy", {"--no-clamp"}).status, 0);
  const Array video = read_npy(path("out.npy"));  // [3, 9, 32, 48]
  EXPECT_EQ(last.values[5 * 3 + 1], video.values[(1 * 9 + 5) * 32 * 48 + 5]);
}

TEST_F(Debugging, DumpsTheSameFilesWhateverIsFused) {
  ASSERT_EQ(decode("latent.npy", {"--dump", path("a"), "--steps", "decoder.middle.*"}).status, 0);
  ASSERT_EQ(decode("latent.npy", {"--dump", path("b"), "--steps", "decoder.middle.*",
                                  "--disable-pass", "fuse-residual"})
                .status,
            0);
  for (const std::string& name : names_in(path("a"))) {
    const Array a = read_npy(path("a/" + name));
    const Array b = read_npy(path("b/" + name));
    EXPECT_EQ(a.shape, b.shape) << name;
  }
}

TEST_F(Debugging, DumpSaysThatAnInputOfOneFrameHasNoSuchSteps) {
  write_npy(path("one.npy"), Array::zeros({16, 1, 4, 6}));
  const std::string interleave = "decoder.upsamples.3.interleave";
  const Finished one = decode("one.npy", {"--dump", path("a"), "--steps", interleave});
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.err, HasSubstr("--steps decoder.upsamples.3.interleave: matches only steps after "
                                 "the first frame, and this input has one: nothing was written"));
  EXPECT_THAT(names_in(path("a")), IsEmpty());
  const Finished three = decode("latent.npy", {"--dump", path("b"), "--steps", interleave});
  EXPECT_THAT(three.err, Not(HasSubstr("--steps")));
  EXPECT_FALSE(names_in(path("b")).empty());
}

TEST_F(Debugging, DumpRefusesWhatMeansNothing) {
  const auto words = [&](const Words& more) {
    Words all = {"decode",    path("latent.npy"), "-o",      path("out.npy"),
                 "--weights", "random:8:2",       "--dtype", "float32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string video = path("video.npy");
  expect_failure(folder_.path(), 2, "belong together", words({"--dump", path("d")}));
  expect_failure(folder_.path(), 2, "belong together", words({"--steps", "*"}));
  expect_failure(folder_.path(), 3, "found a file", words({"--dump", video, "--steps", "*"}));
  expect_failure(folder_.path(), 3, "an empty folder", words({"--dump", path(""), "--steps", "*"}));
  const Finished none = zoetrope(words({"--dump", path("new"), "--steps", "decoder.midle.0.*"}));
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(
      none.err,
      HasSubstr("--steps decoder.midle.0.*: matches no step; names near it: decoder.middle.0, "
                "decoder.middle."));
  EXPECT_THAT(names_in(path("new")), IsEmpty());
  const Finished many = zoetrope_tiny({"decode", path("latent.npy"), path("latent.npy"), "-o",
                                       path("{}.out.npy"), "--dump", path("e"), "--steps", "*"});
  EXPECT_EQ(many.status, 2);
}

Finished check(const Words& more) {
  Words words = {"check", "--weights", "random:8:2", "--size", "32x48", "--frames", "5"};
  words.insert(words.end(), more.begin(), more.end());
  return zoetrope(words);
}

json check_json(const Words& more, int status = 0) {
  Words words = more;
  words.emplace_back("--json");
  const Finished run = check(words);
  EXPECT_EQ(run.status, status) << run.err;
  return json::parse(run.out, nullptr, false);
}

TEST(Check, ComparesSixteenBitWithFloat32) {
  const json result = check_json({});
  EXPECT_THAT(result.at("tested").get<std::string>(), StartsWith("bfloat16 on cpu-"));
  EXPECT_THAT(result.at("reference").get<std::string>(), StartsWith("float32 on cpu-"));
  EXPECT_EQ(result.at("within_bounds"), true);
  EXPECT_EQ(result.at("unmatched"), 0);
  EXPECT_GT(result.at("decoded_psnr").get<double>(), 40);
  std::set<std::string> entries;
  for (const json& step : result.at("steps")) {
    entries.insert(step.at("entry"));
    EXPECT_GT(step.at("values"), 0);
    EXPECT_LT(step.at("relative_rms"), 0.036);
    if (!step.at("kernel").get<std::string>().starts_with("conv3d")) continue;
    EXPECT_NE(step.at("kernel"), step.at("reference_kernel")) << step.at("name");
  }
  EXPECT_THAT(entries, ElementsAre("decode.first", "decode.next", "encode.first", "encode.next"));
}

TEST(Check, FindsThatTheSameTypeAgreesToTheBit) {
  const json result = check_json({"--dtype", "float32", "--disable-pass", "fuse-silu"});
  EXPECT_EQ(result.at("within_bounds"), true);
  EXPECT_GT(result.at("unmatched"), 0);
  EXPECT_THAT(result.at("tested").get<std::string>(), HasSubstr("without fuse-silu"));
  EXPECT_THAT(result.at("reference").get<std::string>(), Not(HasSubstr("without")));
  for (const json& step : result.at("steps")) {
    EXPECT_LE(step.at("relative_max"), 2e-5) << step.at("name");
  }
}

TEST(Check, EveryPassOffAgreesWithOn) {
  for (const char* pass : {"fold-linear", "fold-upsample", "fuse-interleave", "fuse-residual",
                           "fuse-shortcut", "fuse-silu", "fuse-norm"}) {
    const Finished run = check({"--dtype", "float32", "--disable-pass", pass});
    EXPECT_EQ(run.status, 0) << pass << run.err;
    EXPECT_THAT(run.out, HasSubstr("within bounds: max/largest up to 2e-05")) << pass;
  }
}

TEST(Check, IsOneBeyondTheTolerance) {
  const Finished run = check({"--tolerance", "1e-4"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("  <--"), HasSubstr("out of bounds (rms/rms up to 0.0001")));
  const json result = check_json({"--tolerance", "1e-4"}, 1);
  EXPECT_EQ(result.at("within_bounds"), false);
  EXPECT_THAT(result.at("problem").get<std::string>(), HasSubstr("1.00e-04 is allowed"));
}

TEST(Check, CountsWhatIsNotFinite) {
  const ScratchFolder folder;
  const std::string weights = damaged_weights(folder, "encoder.middle.0.residual.2.weight");
  const Finished run =
      zoetrope({"check", "--weights", weights, "--size", "16x16", "--frames", "1"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("values are not finite on one side"));
}

TEST(Check, TakesAClipAndCropsIt) {
  const ScratchFolder folder;
  make_clip(folder.path("clip.mkv"), "34x50", 7);
  const Finished run = zoetrope({"check", folder.path("clip.mkv"), "--weights", "random:8"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n5 frames of 32x48, " + folder.path("clip.mkv")));
  EXPECT_THAT(run.out, HasSubstr("beside the original"));
}

TEST(Check, RefusesWhatMeansNothing) {
  const ScratchFolder folder;
  const auto refuse = [&](int status, const std::string& part, const Words& more) {
    Words words = {"check", "--weights", "random:8"};
    words.insert(words.end(), more.begin(), more.end());
    expect_failure(folder.path(), status, part, words);
  };
  refuse(2, "both sides are float32 on cpu", {"--dtype", "float32", "--device", "cpu"});
  refuse(2, "both sides are bfloat16 on cpu", {"--against", "bfloat16", "--device", "cpu"});
  refuse(2, "--against int8: expected", {"--against", "int8"});
  refuse(2, "multiples of 8", {"--size", "20x24"});
  refuse(2, "--tolerance -1", {"--tolerance=-1"});
  refuse(2, "expected one type and one device", {"--against", "cpu,float32,bfloat16"});
  refuse(2, "--disable-pass nothing", {"--disable-pass", "nothing"});
  refuse(2, "one argument too many", {"a.mp4", "b.mp4"});
  refuse(3, "nowhere.mp4", {folder.path("nowhere.mp4")});
  Array clip = Array::zeros({3, 1, 16, 16});
  clip.values[0] = -1;
  write_npy(folder.path("clip.npy"), clip);
  const Words huge = {"check", "--weights", "random:96", "--size", "16384x16384"};
  Words of_clip = huge;
  of_clip.push_back(folder.path("clip.npy"));
  expect_failure(folder.path(), 6, "for the clip; use a smaller --size or fewer --frames", huge);
  expect_failure(folder.path(), 6, "1 frame of 16384x16384 needs", of_clip);
  expect_failure(folder.path(), 2, "no weights", {"check"});
}

}  // namespace
}  // namespace zoetrope::testing
