// SPDX-License-Identifier: Apache-2.0
// Which frames a reader gives, and when they are shown.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include <fcntl.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

// Frame i is uniformly of value i.
class TimingTest : public testing::Test {
 protected:
  // `options`: of ffmpeg's output, filters included.
  std::string clip(const std::string& name, const std::string& rate, int frames,
                   const std::string& options) {
    std::string raw;
    for (int i = 0; i < frames; ++i) raw += std::string(16 * 16 * 3, static_cast<char>(i));
    write_bytes(folder_.file("raw"), raw);
    run_ffmpeg("-f rawvideo -pix_fmt rgb24 -s 16x16 -r " + rate + " -i " + folder_.file("raw") +
               " " + options + " " + folder_.file(name));
    return folder_.file(name);
  }
  ScratchFolder folder_;
};

const std::string kLossless = "-c:v ffv1 -pix_fmt bgr0 ";

std::vector<int> values_of(const Clip& clip) {
  std::vector<int> values;
  for (int64_t i = 0; i < clip.frames; ++i) {
    values.push_back(clip.bytes.at(static_cast<size_t>(i) * 16 * 16 * 3));
  }
  return values;
}

std::vector<int> count_from(int first, int frames) {
  std::vector<int> values;
  for (int i = 0; i < frames; ++i) values.push_back(first + i);
  return values;
}

TEST_F(TimingTest, ConstantStreamsPassUnchanged) {
  for (const char* rate : {"24", "24000/1001", "30000/1001", "16", "10", "120000/1001"}) {
    for (const char* name : {"a.mkv", "a.nut", "a.avi"}) {
      const Clip read = read_clip(clip(name, rate, 150, kLossless));
      EXPECT_EQ(values_of(read), count_from(0, 150)) << rate << " " << name;
      EXPECT_EQ(read.info.rate, parse_frame_rate(rate)) << to_string(read.info.rate) << name;
      EXPECT_TRUE(read.info.rate_known);
      EXPECT_EQ(read.info.frames, 150);
      EXPECT_TRUE(read.notices.empty()) << read.notices.front();
    }
  }
}

TEST_F(TimingTest, FramesInOrderOfShowing) {
  const Clip read =
      read_clip(clip("a.mp4", "25", 60, "-c:v libx264 -bf 3 -crf 10 -pix_fmt yuv444p"));
  ASSERT_EQ(read.frames, 60);
  EXPECT_EQ(read.info.frames, 60);
  for (int i = 0; i < 60; ++i) EXPECT_NEAR(values_of(read)[static_cast<size_t>(i)], i, 2);
}

TEST_F(TimingTest, ReadsARangeOfFrames) {
  const std::string path = clip("a.mkv", "24", 20, kLossless);
  const Clip read = read_clip(path, {.range = {5, 9}});
  EXPECT_EQ(values_of(read), count_from(5, 4));
  EXPECT_EQ(read.info.frames, 4);
  EXPECT_FALSE(read.said("--frames"));
  const Clip short_clip = read_clip(path, {.range = {17, 99}});
  EXPECT_EQ(values_of(short_clip), count_from(17, 3));
  EXPECT_TRUE(short_clip.said("--frames 17:99: there are 20 frames"));
  EXPECT_FALSE(read_clip(path, {.range = {17, 20}}).said("--frames"));
  const Error error = error_of([&] { read_clip(path, {.range = {20, {}}}); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(error.what()).find("has 20"), std::string::npos) << error.what();
}

TEST_F(TimingTest, ResamplesByTheFrameShownThen) {
  const std::string path = clip("a.mkv", "30", 30, kLossless);
  const Clip half = read_clip(path, {.rate = FrameRate{15, 1}});
  EXPECT_EQ(half.info.rate, (FrameRate{15, 1}));
  EXPECT_EQ(half.frames, 15);
  EXPECT_EQ(half.info.frames, 15);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(values_of(half)[static_cast<size_t>(i)], 2 * i);
  EXPECT_TRUE(half.said("repeated: 0, left out: 15")) << half.notices.back();

  const Clip twice = read_clip(path, {.rate = FrameRate{60, 1}});
  EXPECT_EQ(twice.frames, 60);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(values_of(twice)[static_cast<size_t>(i)], i / 2);
  EXPECT_TRUE(twice.said("repeated: 30, left out: 0"));

  const Clip film = read_clip(path, {.rate = FrameRate{24, 1}});
  EXPECT_EQ(film.frames, 24);
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values_of(film)[static_cast<size_t>(i)], i * 30 / 24);

  EXPECT_EQ(values_of(read_clip(path, {.rate = FrameRate{30, 1}})), count_from(0, 30));
  EXPECT_EQ(values_of(read_clip(path, {.rate = FrameRate{15, 1}, .range = {2, 4}})),
            (std::vector<int>{4, 6}));
}

TEST_F(TimingTest, VariableRatesBecomeConstant) {
  // Frames 20 to 29 are missing: frame 19 stays for eleven frame times.
  const std::string path =
      clip("a.mkv", "30", 60, "-vf \"select='not(between(n,20,29))'\" -fps_mode vfr " + kLossless);
  const Clip read = read_clip(path);
  EXPECT_TRUE(read.said("variable frame rate: resampled to 30")) << read.notices.front();
  EXPECT_TRUE(read.said("repeated: 10, left out: 0"));
  ASSERT_EQ(read.frames, 60);
  EXPECT_EQ(read.info.frames, 60);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(values_of(read)[static_cast<size_t>(i)], i >= 20 && i < 30 ? 19 : i) << i;
  }
  const Clip slow = read_clip(path, {.rate = FrameRate{10, 1}});
  EXPECT_EQ(values_of(slow), (std::vector<int>{0,  3,  6,  9,  12, 15, 18, 19, 19, 19,
                                               30, 33, 36, 39, 42, 45, 48, 51, 54, 57}));
}

TEST_F(TimingTest, SaysWhatItTakesForGranted) {
  EXPECT_TRUE(read_clip(clip("a.mkv", "24", 2, kLossless + "-vf setsar=4/3"))
                  .said("pixels of shape 4:3 are taken for square"));
  EXPECT_TRUE(read_clip(clip("a.mkv", "24", 2, kLossless + "-field_order tt")).said("interlaced"));
}

TEST_F(TimingTest, ReadsY4m) {
  const std::string path = clip("a.y4m", "24000/1001", 3, "-pix_fmt yuv444p");
  const Clip read = read_clip(path);
  EXPECT_EQ(read.frames, 3);
  EXPECT_EQ(read.info.rate, (FrameRate{24000, 1001}));
}

// Standard input and output are what a file descriptor says they are.
class Redirection {
 public:
  Redirection(int descriptor, const std::string& path, int flags)
      : descriptor_(descriptor), saved_(dup(descriptor)) {
    const int file = open(path.c_str(), flags, 0600);
    dup2(file, descriptor_);
    close(file);
  }
  ~Redirection() {
    dup2(saved_, descriptor_);
    close(saved_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  int descriptor_;
  int saved_;
};

TEST_F(TimingTest, PipesY4mThroughStandardInputAndOutput) {
  const std::vector<uint8_t> frames(16 * 32 * 3 * 7, 100);
  const std::string path = folder_.file("out.y4m");
  {
    const Redirection redirection(STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC);
    write_clip("-", {.height = 16, .width = 32, .rate = {24, 1}}, frames);
  }
  const Redirection redirection(STDIN_FILENO, path, O_RDONLY);
  const Clip read = read_clip("-");
  EXPECT_EQ(read.frames, 7);
  EXPECT_FALSE(read.info.frames.has_value());
  EXPECT_EQ(read.info.rate, (FrameRate{24, 1}));
  EXPECT_EQ(read.info.width, 32);
  for (const uint8_t value : read.bytes) ASSERT_NEAR(value, 100, 1);
}

TEST_F(TimingTest, StandardInputMustBeY4m) {
  const Redirection redirection(STDIN_FILENO, clip("a.mkv", "24", 2, kLossless), O_RDONLY);
  const Error error = error_of([] { read_clip("-"); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("y4m on standard input"), std::string::npos);
}

}  // namespace
}  // namespace zoetrope::media
