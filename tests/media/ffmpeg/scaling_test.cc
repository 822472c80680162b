// SPDX-License-Identifier: Apache-2.0
// Scaling real files as they are read.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

class ScalingTest : public testing::Test {
 protected:
  // Of whole frames, in dB.
  static double psnr(const Clip& a, const Clip& b) {
    double squares = 0;
    for (size_t i = 0; i < a.bytes.size(); ++i) {
      const double error = static_cast<double>(a.bytes[i]) - b.bytes[i];
      squares += error * error;
    }
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.bytes.size()) / squares);
  }

  ScratchFolder folder_;
  std::string source_ = "-f lavfi -i testsrc2=size=160x120:rate=8:duration=1 ";
};

TEST_F(ScalingTest, EveryKindOfInputGivesTheSame) {
  run_ffmpeg(source_ + "-frames:v 4 -c:v ffv1 -pix_fmt bgr0 " + folder_.file("a.mkv"));
  run_ffmpeg(source_ + "-frames:v 1 " + folder_.file("a.png"));
  run_ffmpeg("-i " + folder_.file("a.png") + " " + folder_.file("frame_1.png"));
  const ReadOptions options = {.size = FrameSize{45, 60}};
  const Clip video = read_clip(folder_.file("a.mkv"), options);
  EXPECT_EQ(video.info.width, 60);
  EXPECT_EQ(video.info.height, 45);
  ASSERT_EQ(video.frames, 4);
  const std::vector<uint8_t> first(video.bytes.begin(), video.bytes.begin() + 60 * 45 * 3);
  EXPECT_EQ(read_clip(folder_.file("a.png"), options).bytes, first);

  const ScratchFolder frames;
  run_ffmpeg("-i " + folder_.file("a.mkv") + " " + frames.file("frame_%03d.png"));
  EXPECT_EQ(read_clip(frames.file(""), options).bytes, video.bytes);
}

// swscale rounds each step, so that it is near, not equal.
TEST_F(ScalingTest, AgreesWithSwscale) {
  run_ffmpeg(source_ + "-frames:v 2 -c:v ffv1 -pix_fmt bgr0 " + folder_.file("a.mkv"));
  for (const FrameSize& size : {FrameSize{48, 80}, FrameSize{200, 300}}) {
    run_ffmpeg("-i " + folder_.file("a.mkv") +
               fmt::format(" -vf scale={}:{}:flags=lanczos+accurate_rnd+full_chroma_int+"
                           "full_chroma_inp,format=bgr0 -c:v ffv1 ",
                           size.width, size.height) +
               folder_.file("b.mkv"));
    const Clip ours = read_clip(folder_.file("a.mkv"), {.size = size});
    const Clip theirs = read_clip(folder_.file("b.mkv"));
    ASSERT_EQ(ours.bytes.size(), theirs.bytes.size());
    EXPECT_GT(psnr(ours, theirs), 38);
  }
}

TEST_F(ScalingTest, TurnedVideosAreScaledAsShown) {
  run_ffmpeg(source_ + "-frames:v 2 -c:v libx264 " + folder_.file("a.mp4"));
  run_ffmpeg("-i " + folder_.file("a.mp4") + " -c copy -metadata:s:v rotate=90 " +
             folder_.file("b.mp4"));
  const Clip clip = read_clip(folder_.file("b.mp4"), {.size = FrameSize{80, 60}});
  EXPECT_EQ(clip.info.height, 80);
  EXPECT_EQ(clip.info.width, 60);
  EXPECT_FALSE(clip.said("aspect"));
}

}  // namespace
}  // namespace zoetrope::media
