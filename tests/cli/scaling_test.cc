// SPDX-License-Identifier: Apache-2.0
// --size: videos scaled as they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Scaling : public ::testing::Test {
 protected:
  void SetUp() override { make_clip(clip_, "96x64", 5); }

  // The shape of the latents that encoding gives.
  std::vector<int64_t> encode(const std::string& input, const Words& more) {
    Words words = {"encode", input, "-o", latents_, "-y"};
    words.insert(words.end(), more.begin(), more.end());
    run_ = zoetrope_tiny(words);
    EXPECT_EQ(run_.status, 0) << run_.err;
    return read_tensor(latents_, "latent").shape;
  }

  ScratchFolder folder_;
  std::string clip_ = folder_.path("clip.mkv");
  std::string latents_ = folder_.path("clip.safetensors");
  Finished run_;
};

TEST_F(Scaling, EveryKindOfInputIsScaled) {
  const Words size = {"--size", "48x32"};
  EXPECT_THAT(encode(clip_, size), ElementsAre(16, 2, 4, 6));
  EXPECT_THAT(run_.err, Not(HasSubstr("aspect")));
  const std::vector<float> video = read_tensor(latents_, "latent").values;
  std::filesystem::create_directory(folder_.path("frames"));
  ffmpeg({"-i", clip_, folder_.path("frames/%d.png")});
  EXPECT_THAT(encode(folder_.path("frames"), size), ElementsAre(16, 2, 4, 6));
  EXPECT_EQ(read_tensor(latents_, "latent").values, video);
  EXPECT_THAT(encode(folder_.path("frames/1.png"), size), ElementsAre(16, 1, 4, 6));
  ffmpeg({"-i", clip_, "-pix_fmt", "yuv444p", folder_.path("clip.y4m")});
  EXPECT_THAT(encode(folder_.path("clip.y4m"), size), ElementsAre(16, 2, 4, 6));
  write_npy(folder_.path("array.npy"), Array::zeros({3, 5, 64, 96}));
  EXPECT_THAT(encode(folder_.path("array.npy"), {"--size", "48x32", "--range", "signed"}),
              ElementsAre(16, 2, 4, 6));
  EXPECT_THAT(encode(clip_, {"--size", "48x32", "--frames", "2:3"}), ElementsAre(16, 1, 4, 6));
}

TEST_F(Scaling, TheScaledSizeIsTheVideosOwn) {
  encode(clip_, {"--size", "50x30"});
  EXPECT_THAT(run_.err,
              HasSubstr("96x64 is scaled to 50x30, another aspect ratio (50x33 or 45x30"));
  EXPECT_THAT(run_.err, HasSubstr("50x30 is padded to 56x32"));
  const Finished inspected = zoetrope({"inspect", latents_});
  EXPECT_THAT(inspected.out, HasSubstr("50x30, 5 frames"));
  const Finished decoded = zoetrope_tiny({"decode", latents_, "-o", folder_.path("out.npy")});
  EXPECT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_THAT(read_npy(folder_.path("out.npy")).shape, ElementsAre(3, 5, 30, 50));
}

TEST_F(Scaling, RoundtripComparesWithWhatWasScaled) {
  const Finished run = zoetrope_tiny(
      {"roundtrip", clip_, "-o", folder_.path("out.mkv"), "--size", "48x32", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto line = nlohmann::json::parse(run.out);
  EXPECT_EQ(line.at("width"), 48);
  EXPECT_EQ(line.at("height"), 32);
  EXPECT_TRUE(line.at("psnr").is_number());
}

TEST_F(Scaling, ManyInputsBecomeOneSize) {
  make_clip(folder_.path("tall.mkv"), "32x80", 1);
  const Finished run = zoetrope_tiny(
      {"encode", clip_, folder_.path("tall.mkv"), "-o", folder_.path("out"), "--size", "32x32"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(read_tensor(folder_.path("out/clip.safetensors"), "latent").shape,
              ElementsAre(16, 2, 4, 4));
  EXPECT_THAT(read_tensor(folder_.path("out/tall.safetensors"), "latent").shape,
              ElementsAre(16, 1, 4, 4));
}

TEST_F(Scaling, SizesThatAreNoneAreRefused) {
  for (const char* size : {"0x0", "0x32", "-8x32", "48", "48x", "x32", "48x32x3", "wide", "48X32",
                           "16385x32", "99999999999999999999x32", "48.5x32", " 48x32"}) {
    for (const char* command : {"encode", "roundtrip"}) {
      const Finished run =
          zoetrope_tiny({command, clip_, "-o", folder_.path("out.safetensors"), "--size", size});
      EXPECT_EQ(run.status, 2) << size;
      EXPECT_EQ(unlike_error_line(run.err), "");
      EXPECT_THAT(run.err, HasSubstr("832x480"));
    }
  }
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("clip.mkv"));
}

}  // namespace
}  // namespace zoetrope::testing
