// SPDX-License-Identifier: Apache-2.0
// Sizes and frame counts that the model does not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "media/video.h"
#include "tests/base/scratch_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Extent {
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const Extent&) const = default;
};

void PrintTo(const Extent& extent, std::ostream* stream) {
  *stream << extent.frames << " of " << extent.width << "x" << extent.height;
}

// What a video holds, counted by reading it.
Extent extent_of(const std::string& path) {
  const auto reader = media::open_video_reader(path, {});
  const media::VideoInfo& info = reader->info();
  std::vector<std::byte> frame(
      static_cast<size_t>(media::frame_bytes(info.format, info.height, info.width)));
  Extent extent = {0, info.height, info.width};
  while (reader->read(1, frame.data()) == 1) ++extent.frames;
  return extent;
}

class Fitting : public ::testing::Test {
 protected:
  void SetUp() override { make_clip(clip_, "34x50", 8); }

  ScratchFolder folder_;
  std::string clip_ = folder_.path("clip.mkv");
  std::string latents_ = folder_.path("clip.safetensors");
};

TEST_F(Fitting, PadsSaysSoAndRestores) {
  const Finished run = zoetrope_tiny({"encode", clip_, "-o", latents_});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("note: " + clip_ + ": 34x50 is padded to 40x56"));
  EXPECT_THAT(run.err, HasSubstr("8 frames are padded to 9"));
  EXPECT_THAT(read_tensor(latents_, "latent").shape, ElementsAre(16, 3, 7, 5));
  for (const char* name : {"out.mp4", "out.mkv", "out.npy", "out.safetensors", "out/"}) {
    const Finished decoded = zoetrope_tiny({"decode", latents_, "-o", folder_.path(name)});
    ASSERT_EQ(decoded.status, 0) << decoded.err;
  }
  EXPECT_EQ(extent_of(folder_.path("out.mp4")), (Extent{8, 50, 34}));
  EXPECT_EQ(extent_of(folder_.path("out.mkv")), (Extent{8, 50, 34}));
  EXPECT_EQ(extent_of(folder_.path("out")), (Extent{8, 50, 34}));
  EXPECT_THAT(read_npy(folder_.path("out.npy")).shape, ElementsAre(3, 8, 50, 34));
  EXPECT_THAT(read_tensor(folder_.path("out.safetensors"), "video").shape,
              ElementsAre(3, 8, 50, 34));
}

TEST_F(Fitting, PadsByRepeatingEdgesAndTheLastFrame) {
  // The same clip, padded by ffmpeg instead.
  const std::string padded = folder_.path("padded.mkv");
  ffmpeg({"-i", clip_, "-vf",
          "pad=40:56,fillborders=right=6:bottom=6:mode=smear,tpad=stop=1:stop_mode=clone", "-c:v",
          "ffv1", "-pix_fmt", "bgr0", padded});
  ASSERT_EQ(zoetrope_tiny({"encode", clip_, "-o", latents_}).status, 0);
  const std::string other = folder_.path("padded.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", padded, "-o", other}).status, 0);
  EXPECT_EQ(read_tensor(latents_, "latent").values, read_tensor(other, "latent").values);
}

TEST_F(Fitting, TrimsAndCropsToTheMiddle) {
  const Finished run = zoetrope_tiny(
      {"encode", clip_, "-o", latents_, "--fit-frames", "trim", "--fit-size", "crop"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("8 frames are trimmed to 5"));
  EXPECT_THAT(run.err, HasSubstr("34x50 is cropped to the 32x48 in its middle"));
  ASSERT_EQ(zoetrope_tiny({"decode", latents_, "-o", folder_.path("out.mkv")}).status, 0);
  EXPECT_EQ(extent_of(folder_.path("out.mkv")), (Extent{5, 48, 32}));

  const std::string cropped = folder_.path("cropped.mkv");
  ffmpeg({"-i", clip_, "-vf", "crop=32:48:1:1", "-frames:v", "5", "-c:v", "ffv1", "-pix_fmt",
          "bgr0", cropped});
  const std::string other = folder_.path("cropped.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", cropped, "-o", other}).status, 0);
  EXPECT_EQ(read_tensor(latents_, "latent").values, read_tensor(other, "latent").values);
}

TEST_F(Fitting, RefusalNamesTheChoices) {
  const Finished size = zoetrope_tiny({"encode", clip_, "-o", latents_, "--fit-size", "refuse"});
  EXPECT_EQ(size.status, 2);
  EXPECT_EQ(unlike_error_line(size.err), "");
  EXPECT_THAT(size.err, HasSubstr("--fit-size pad (40x56) or crop (32x48)"));
  const Finished frames = zoetrope_tiny(
      {"encode", clip_, "-o", latents_, "--fit-frames", "refuse", "--fit-size", "crop", "--quiet"});
  EXPECT_EQ(frames.status, 2);
  EXPECT_EQ(unlike_error_line(frames.err), "");
  EXPECT_THAT(frames.err, HasSubstr("--fit-frames pad (9) or trim (5)"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("clip.mkv"));
}

TEST_F(Fitting, OutputsThatRecordNothingRefuseUnlessTold) {
  const std::string npy = folder_.path("clip.npy");
  const Finished refused = zoetrope_tiny({"encode", clip_, "-o", npy});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(unlike_error_line(refused.err), "");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("clip.mkv"));
  const Finished told =
      zoetrope_tiny({"encode", clip_, "-o", npy, "--fit-frames", "pad", "--fit-size", "pad"});
  ASSERT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(read_npy(npy).shape, ElementsAre(16, 3, 7, 5));
}

TEST_F(Fitting, RoundtripGivesTheSizeBack) {
  const std::string out = folder_.path("again.mkv");
  const Finished run = zoetrope_tiny({"roundtrip", clip_, "-o", out, "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(extent_of(out), (Extent{8, 50, 34}));
  const auto line = nlohmann::json::parse(run.out);
  EXPECT_EQ(line.at("frames"), 8);
  EXPECT_EQ(line.at("width"), 34);
  EXPECT_TRUE(line.at("psnr").is_number());
  EXPECT_TRUE(line.at("ssim").is_number());
}

TEST_F(Fitting, RoundtripIsEncodeThenDecode) {
  const std::string direct = folder_.path("direct.npy");
  const std::string twice = folder_.path("twice.npy");
  ASSERT_EQ(zoetrope_tiny({"roundtrip", clip_, "-o", direct}).status, 0);
  ASSERT_EQ(zoetrope_tiny({"encode", clip_, "-o", latents_}).status, 0);
  ASSERT_EQ(zoetrope_tiny({"decode", latents_, "-o", twice}).status, 0);
  EXPECT_EQ(read_file(direct), read_file(twice));
}

TEST_F(Fitting, OneFrameIsAnImage) {
  const std::string png = folder_.path("one.png");
  const std::string out = folder_.path("again.png");
  ffmpeg({"-i", clip_, "-frames:v", "1", png});
  const Finished run = zoetrope_tiny({"roundtrip", png, "-o", out});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(extent_of(out), (Extent{1, 50, 34}));
}

TEST_F(Fitting, FramesOfTheInputCanBeChosen) {
  const Finished run = zoetrope_tiny({"encode", clip_, "-o", latents_, "--frames", "2:7"});
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string part = folder_.path("part.mkv");
  ffmpeg({"-i", clip_, "-vf", "select=between(n\\,2\\,6),setpts=N/8/TB", "-c:v", "ffv1", "-pix_fmt",
          "bgr0", part});
  const std::string other = folder_.path("part.safetensors");
  ASSERT_EQ(zoetrope_tiny({"encode", part, "-o", other}).status, 0);
  EXPECT_EQ(read_tensor(latents_, "latent").values, read_tensor(other, "latent").values);
}

TEST_F(Fitting, RecordsThatCannotBeTrueAreRefused) {
  ASSERT_EQ(zoetrope_tiny({"encode", clip_, "-o", latents_}).status, 0);
  std::map<std::string, std::string> metadata = SafetensorsFile(latents_).metadata();
  Array latent = read_tensor(latents_, "latent");
  bool changed = false;
  for (auto& [name, value] : metadata) {
    if (value != "50") continue;
    value = "5000000";
    changed = true;
  }
  ASSERT_TRUE(changed);
  const std::string forged = folder_.path("forged.safetensors");
  write_safetensors(forged, {{"latent", latent.view(), nullptr}}, metadata);
  const Finished run = zoetrope_tiny({"decode", forged, "-o", folder_.path("out.mkv")});
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(unlike_error_line(run.err), "");
}

}  // namespace
}  // namespace zoetrope::testing
