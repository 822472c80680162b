// SPDX-License-Identifier: Apache-2.0
// Reference values through files, as users have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/support/golden.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;

const GoldenFile& golden() {
  static const GoldenFile file("tiny/case_t9_32x48");
  return file;
}

double error_of(const Array& found, const std::string& name) {
  const Array expected = golden().load(name);
  // Files may have a leading axis of 1.
  EXPECT_EQ(found.values.size(), expected.values.size()) << name;
  return relative_error(found.values, expected.values);
}

// Each published layout of the same float32 values.
class GoldenCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenCheckpoint, EncodesToTheReference) {
  const ScratchFolder folder;
  const std::string out = folder.path("latents.safetensors");
  const Finished run =
      zoetrope({"encode", data_file("case_t9_32x48.safetensors"), "-o", out, "--weights",
                data_file(GetParam()), "--posterior", "--dtype", "float32"});
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* name : {"latent", "mean", "logvar"}) {
    EXPECT_LE(error_of(read_tensor(out, name), name), kFloat32Tolerance) << name;
  }
}

TEST_P(GoldenCheckpoint, DecodesToTheReference) {
  const ScratchFolder folder;
  write_tensor(folder.path("z.safetensors"), "latent", golden().load("z"));
  const std::string out = folder.path("video.safetensors");
  const Finished run = zoetrope({"decode", folder.path("z.safetensors"), "-o", out, "--no-clamp",
                                 "--weights", data_file(GetParam()), "--dtype", "float32"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_LE(error_of(read_tensor(out, "video"), "decoded"), kFloat32Tolerance);
}

INSTANTIATE_TEST_SUITE_P(Layouts, GoldenCheckpoint,
                         ::testing::Values("wan_2.1_vae.safetensors", "Wan2.1_VAE.pth",
                                           "diffusers"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           name.erase(std::remove_if(name.begin(), name.end(),
                                                     [](char c) { return std::isalnum(c) == 0; }),
                                      name.end());
                           return name;
                         });

TEST(GoldenArrays, NpyHoldsTheReferenceBothWays) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  write_npy(folder.path("z.npy"), golden().load("z"));
  const Finished encoded =
      zoetrope_tiny({"encode", folder.path("video.npy"), "-o", folder.path("latent.npy")});
  ASSERT_EQ(encoded.status, 0) << encoded.err;
  EXPECT_LE(error_of(read_npy(folder.path("latent.npy")), "latent"), kFloat32Tolerance);
  const Finished decoded = zoetrope_tiny(
      {"decode", folder.path("z.npy"), "-o", folder.path("decoded.npy"), "--no-clamp"});
  ASSERT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_LE(error_of(read_npy(folder.path("decoded.npy")), "decoded"), kFloat32Tolerance);
}

TEST(GoldenArrays, ComfyLatentsHoldTheRawMean) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  const std::string comfy = folder.path("x.latent");
  const Finished encoded = zoetrope_tiny({"encode", folder.path("video.npy"), "-o", comfy});
  ASSERT_EQ(encoded.status, 0) << encoded.err;
  EXPECT_LE(error_of(read_tensor(comfy, "latent_tensor"), "mean"), kFloat32Tolerance);
  EXPECT_EQ(SafetensorsFile(comfy).tensors().count("latent_format_version_0"), 1U);

  // The same latents in both scales decode to the same video, up to the rounding of the scaling.
  const std::string own = folder.path("x.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", folder.path("video.npy"), "-o", own}).status, 0);
  for (const char* name : {"x.latent", "x.safetensors"}) {
    const Finished decoded = zoetrope_tiny(
        {"decode", folder.path(name), "--no-clamp", "-o", folder.path(std::string(name) + ".npy")});
    ASSERT_EQ(decoded.status, 0) << decoded.err;
  }
  const Array a = read_npy(folder.path("x.latent.npy"));
  const Array b = read_npy(folder.path("x.safetensors.npy"));
  EXPECT_LE(relative_error(a.values, b.values), kFloat32Tolerance);
}

TEST(GoldenArrays, RawScaleIsTakenAsAsked) {
  const ScratchFolder folder;
  write_npy(folder.path("video.npy"), golden().load("video"));
  const Finished encoded = zoetrope_tiny(
      {"encode", folder.path("video.npy"), "-o", folder.path("raw.npy"), "--latent-scale", "raw"});
  ASSERT_EQ(encoded.status, 0) << encoded.err;
  EXPECT_LE(error_of(read_npy(folder.path("raw.npy")), "mean"), kFloat32Tolerance);
  const Finished refused = zoetrope_tiny({"encode", folder.path("video.npy"), "-o",
                                          folder.path("x.latent"), "--latent-scale", "normalized"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(unlike_error_line(refused.err), "");
}

TEST(Determinism, TheSameInputGivesTheSameBytes) {
  const ScratchFolder folder;
  make_clip(folder.path("clip.mkv"), "32x24", 9);
  const Words variants[] = {{"-o", folder.path("a.safetensors")},
                            {"-o", folder.path("b.safetensors"), "--threads", "1"},
                            {"-o", folder.path("c.safetensors"), "--frames-per-step", "2"}};
  for (const Words& variant : variants) {
    Words words = {"encode", folder.path("clip.mkv"), "--posterior"};
    words.insert(words.end(), variant.begin(), variant.end());
    const Finished run = zoetrope_tiny(words);
    ASSERT_EQ(run.status, 0) << run.err;
  }
  const std::string bytes = read_file(folder.path("a.safetensors"));
  EXPECT_EQ(bytes, read_file(folder.path("b.safetensors")));
  EXPECT_EQ(bytes, read_file(folder.path("c.safetensors")));
  for (const char* name : {"a.mp4", "b.mp4"}) {
    ASSERT_EQ(
        zoetrope_tiny({"decode", folder.path("a.safetensors"), "-o", folder.path(name)}).status, 0);
  }
  EXPECT_EQ(read_file(folder.path("a.mp4")), read_file(folder.path("b.mp4")));
}

}  // namespace
}  // namespace zoetrope::testing
