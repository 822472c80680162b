// SPDX-License-Identifier: Apache-2.0
// Files that were cut off, and good files that look odd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int kFrames = 48;

class CutTest : public testing::Test {
 protected:
  // Two seconds of a test picture; `options` may add inputs after it.
  std::string make(const std::string& name, const std::string& options) {
    run_ffmpeg("-f lavfi -i testsrc=size=64x48:rate=24:duration=2 " + options + " " +
               folder_.file(name));
    return folder_.file(name);
  }

  // The first part of a file, under a name of its own.
  std::string cut(const std::string& path, double share) {
    const std::string bytes = read_bytes(path);
    const std::string name = path + ".cut";
    write_bytes(name,
                bytes.substr(0, static_cast<size_t>(share * static_cast<double>(bytes.size()))));
    return name;
  }

  void expect_whole(const std::string& path, int frames = kFrames) {
    Clip clip;
    const Error error = error_of([&] { clip = read_clip(path); });
    EXPECT_STREQ(error.what(), "nothing was thrown") << path;
    EXPECT_EQ(clip.frames, frames) << path;
  }

  ScratchFolder folder_;
};

// Containers that record how long they are.
TEST_F(CutTest, SayHowManyFramesAreThereAndHowManyShouldBe) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"vp8.webm", "-c:v libvpx"},
      {"vp9.webm", "-c:v libvpx-vp9"},
      {"h264.mkv", "-c:v libx264"},
      {"ffv1.mkv", "-c:v ffv1"},
      {"index.mp4", "-c:v libx264 -movflags +faststart"},
      {"mpeg4.avi", "-c:v mpeg4"},
      {"h264.flv", "-c:v libx264"},
  };
  for (const auto& [name, options] : kFiles) {
    const std::string path = make(name, options);
    expect_whole(path);
    for (const double share : {0.4, 0.6, 0.61, 0.8}) {
      const Error error = error_of([&] { read_clip(cut(path, share)); });
      EXPECT_EQ(error.code(), ErrorCode::kIo) << name << " " << share;
      EXPECT_THAT(error.what(), ContainsRegex("after [0-9]+ of (about )?(4[789]|50) frames"));
      EXPECT_THAT(error.what(), HasSubstr("get the whole file"));
    }
  }
}

// Containers whose parts say how long they are, but not how many there will be.
TEST_F(CutTest, SayThatMoreShouldFollow) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"a.gif", ""},
      {"fragments.mp4", "-c:v libx264 -g 12 -movflags +frag_keyframe+empty_moov"},
      {"live.mkv", "-c:v libx264 -f matroska pipe:1 >"},  // to a pipe: without any lengths
      {"live.webm", "-c:v libvpx -f webm pipe:1 >"},
      {"a.ts", "-c:v mpeg2video"},
      {"a.m2ts", "-c:v libx264"},
      {"a.ogv", "-c:v libtheora"},
      {"wmv2.wmv", "-c:v wmv2"},
      {"a.apng", "-c:v apng"},
  };
  for (const auto& [name, options] : kFiles) {
    const std::string path = make(name, options);
    expect_whole(path);
    for (const double share : {0.59, 0.61, 0.8}) {
      const Error error = error_of([&] { read_clip(cut(path, share)); });
      EXPECT_EQ(error.code(), ErrorCode::kIo) << name << " " << share;
      EXPECT_THAT(error.what(), ContainsRegex("after [0-9]+ (of about [0-9]+ )?frames"));
    }
  }
}

// An index at the end that is missing, or there in part: nothing can be read without.
TEST_F(CutTest, AnMp4WithoutItsIndexIsToBeGotAgain) {
  const std::string path = make("end.mp4", "-c:v libx264");
  const std::string bytes = read_bytes(path);
  const size_t index = bytes.rfind("moov") - 4;
  ASSERT_LT(index, bytes.size());
  const auto expect = [&](size_t size) {
    write_bytes(path + ".cut", bytes.substr(0, size));
    const Error error = error_of([&] { read_clip(path + ".cut"); });
    EXPECT_EQ(error.code(), ErrorCode::kIo) << size;
    EXPECT_THAT(error.what(), HasSubstr("cut off")) << size;
    EXPECT_THAT(error.what(), HasSubstr("get the whole file")) << size;
  };
  for (size_t size = 64; size < index; size += index / 8) expect(size);
  const size_t tags = bytes.rfind("udta") - 4;  // no loss
  for (size_t size = index + 8; size < tags; size += (tags - index) / 16) expect(size);
}

TEST_F(CutTest, OneFrameIsNotFrames) {
  const std::string bytes = read_bytes(make("a.y4m", "-frames:v 2 -pix_fmt yuv420p"));
  write_bytes(folder_.file("b.y4m"), bytes.substr(0, bytes.size() - 9));
  const Error error = error_of([&] { read_clip(folder_.file("b.y4m")); });
  EXPECT_THAT(error.what(), HasSubstr("cut off after 1 frame:"));
}

TEST_F(CutTest, AMissingIndexIsNoLoss) {
  const std::string path = make("a.avi", "-c:v ffv1");
  const std::string bytes = read_bytes(path);
  const std::string without = folder_.file("b.avi");
  write_bytes(without, bytes.substr(0, bytes.find("idx1") + 20));
  expect_whole(without);
}

TEST_F(CutTest, OddTimesAreNoCut) {
  expect_whole(make("late.mkv", "-c:v ffv1 -output_ts_offset 5"));
  expect_whole(make("late.webm", "-c:v libvpx -output_ts_offset 5"));
  expect_whole(make("late.ts", "-c:v mpeg2video -muxdelay 3"));
  const std::string sound = "-f lavfi -i sine=duration=5 ";
  expect_whole(make("sound.mkv", sound + "-c:v libx264 -c:a aac"));
  expect_whole(make("sound.mp4", sound + "-c:v libx264 -c:a aac"));
  expect_whole(make("sound.webm", sound + "-c:v libvpx -c:a libopus"));
  expect_whole(make("sound.ts", sound + "-c:v mpeg2video -c:a mp2"));
  expect_whole(make("sound.flv", sound + "-c:v libx264 -c:a aac -ar 44100"));
  expect_whole(make("sound.avi", sound + "-c:v ffv1 -c:a pcm_s16le"));
}

// 10 frames, of which the fifth stays for a second and the last for three.
TEST_F(CutTest, VariableRatesAreNoCut) {
  const std::string times = "-frames:v 10 -vf \"setpts='(N+24*gt(N,4))/24/TB'\" -fps_mode vfr ";
  for (const char* name : {"a.mkv", "a.webm", "a.mp4", "a.gif"}) {
    Clip clip;
    const Error error = error_of([&] { clip = read_clip(make(name, times)); });
    EXPECT_STREQ(error.what(), "nothing was thrown");
    EXPECT_GE(clip.frames, 10) << name;
  }
  make("slides.gif", "-frames:v 4 -r 24 -final_delay 300");
  EXPECT_GE(read_clip(folder_.file("slides.gif")).frames, 4);
}

TEST_F(CutTest, EditListsAreNoCut) {
  make("long.mp4", "-c:v libx264 -g 48 -bf 2");
  run_ffmpeg("-ss 0.5 -i " + folder_.file("long.mp4") + " -c copy " + folder_.file("edited.mp4"));
  const Clip clip = read_clip(folder_.file("edited.mp4"));
  EXPECT_GE(clip.frames, 35);
  EXPECT_LE(clip.frames, kFrames);
}

TEST_F(CutTest, WhatIsAppendedIsNoCut) {
  for (const char* name : {"a.mkv", "a.mp4", "a.gif", "a.avi"}) {
    const std::string path = make(name, "");
    write_bytes(path, read_bytes(path) + std::string(500, '~'));
    expect_whole(path);
  }
}

}  // namespace
}  // namespace zoetrope::media
