// SPDX-License-Identifier: Apache-2.0
// Files that are not what they seem.
#include <gtest/gtest.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

class HostileInputTest : public testing::Test {
 protected:
  Error refusal(const std::string& name) {
    const Error error = error_of([&] { read_clip(folder_.file(name)); });
    const std::string what = error.what();
    EXPECT_NE(what.find(folder_.file(name)), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    return error;
  }
  std::string make(const std::string& name, const std::string& options) {
    run_ffmpeg("-f lavfi -i testsrc=size=64x48:rate=24:duration=2 " + options + " " +
               folder_.file(name));
    return folder_.file(name);
  }
  ScratchFolder folder_;
};

TEST_F(HostileInputTest, TextIsNoVideo) {
  write_bytes(folder_.file("a.txt"), "This is a letter, not a video.\nYours.\n");
  EXPECT_EQ(refusal("a.txt").code(), ErrorCode::kIo);
  write_bytes(folder_.file("a.mp4"), "This is a letter, not a video.\nYours.\n");
  EXPECT_EQ(refusal("a.mp4").code(), ErrorCode::kIo);
}

TEST_F(HostileInputTest, SoundIsNoVideo) {
  run_ffmpeg("-f lavfi -i sine=duration=1 " + folder_.file("a.wav"));
  const Error error = refusal("a.wav");
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("without a video stream"), std::string::npos);
}

TEST_F(HostileInputTest, ACoverIsNoVideo) {
  make("cover.png", "-frames:v 1");
  run_ffmpeg("-f lavfi -i sine=duration=1 -i " + folder_.file("cover.png") +
             " -map 0 -map 1 -c:a flac -c:v copy -disposition:v attached_pic " +
             folder_.file("a.flac"));
  EXPECT_NE(std::string(refusal("a.flac").what()).find("without a video stream"),
            std::string::npos);
}

TEST_F(HostileInputTest, AnMp4CutBeforeItsIndexSaysSo) {
  const std::string bytes = read_bytes(make("whole.mp4", "-c:v libx264"));
  write_bytes(folder_.file("a.mp4"), bytes.substr(0, bytes.size() / 2));
  const Error error = refusal("a.mp4");
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("moov atom not found"), std::string::npos);
}

TEST_F(HostileInputTest, AY4mCutWithinAFrameSaysSo) {
  const std::string bytes = read_bytes(make("whole.y4m", "-frames:v 3 -pix_fmt yuv420p"));
  const size_t frame = 6 + 64 * 48 * 3 / 2;  // "FRAME\n" and the planes
  EXPECT_EQ(read_clip(folder_.file("whole.y4m")).frames, 3);
  for (const size_t missing : {size_t{1}, frame / 2, frame - 7}) {
    write_bytes(folder_.file("a.y4m"), bytes.substr(0, bytes.size() - missing));
    const Error error = refusal("a.y4m");
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("cut off"), std::string::npos);
  }
}

TEST_F(HostileInputTest, AnMp4CutAfterItsIndexSaysSo) {
  const std::string bytes = read_bytes(make("whole.mp4", "-c:v libx264 -movflags +faststart"));
  write_bytes(folder_.file("a.mp4"), bytes.substr(0, bytes.size() - 100));
  const Error error = refusal("a.mp4");
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("cut off"), std::string::npos);
}

TEST_F(HostileInputTest, DamagedPicturesAreAnError) {
  std::string bytes = read_bytes(make("whole.mkv", "-c:v ffv1 -level 3 -slicecrc 1"));
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 8; ++i) bytes[i] = ~bytes[i];
  write_bytes(folder_.file("a.mkv"), bytes);
  EXPECT_EQ(refusal("a.mkv").code(), ErrorCode::kIo);
}

TEST_F(HostileInputTest, AnyDamageEndsInAnErrorOrAVideo) {
  for (const char* name : {"a.mp4", "a.mkv", "a.png", "a.gif"}) {
    const std::string bytes =
        read_bytes(make(name, name == std::string("a.png") ? "-frames:v 1" : "-frames:v 5"));
    uint32_t state = 7;
    for (int round = 0; round < 12; ++round) {
      std::string damaged = bytes;
      for (int i = 0; i < 10; ++i) {
        state = state * 1664525 + 1013904223;
        damaged[state % damaged.size()] = static_cast<char>(state >> 24);
      }
      write_bytes(folder_.file(name), damaged);
      try {
        read_clip(folder_.file(name));
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
      write_bytes(folder_.file(name), bytes.substr(0, state % bytes.size()));
      try {
        read_clip(folder_.file(name));
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
}

TEST_F(HostileInputTest, PlaylistsMayNotNameOtherFiles) {
  make("b.ts", "-c:v libx264");
  write_bytes(folder_.file("a.m3u8"),
              "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nb.ts\n#EXT-X-ENDLIST\n");
  EXPECT_EQ(refusal("a.m3u8").code(), ErrorCode::kIo);
  write_bytes(folder_.file("a.ffconcat"), "ffconcat version 1.0\nfile b.ts\n");
  EXPECT_EQ(refusal("a.ffconcat").code(), ErrorCode::kIo);
}

TEST_F(HostileInputTest, NamesAreNotUrls) {
  const Error error = error_of([] { read_clip("http://localhost/a.mp4"); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
  const std::string odd = make("whole.mkv", "-c:v ffv1");
  write_bytes(folder_.file("pipe:a%03d.mkv"), read_bytes(odd));
  EXPECT_EQ(read_clip(folder_.file("pipe:a%03d.mkv")).frames, 48);
}

TEST_F(HostileInputTest, HugeFramesAreRefused) {
  std::string png = read_bytes(make("whole.png", "-frames:v 1"));
  const size_t size = png.find("IHDR") + 4;
  for (size_t i = 0; i < 8; ++i) png[size + i] = i % 4 == 2 ? '\x75' : '\0';  // 29952x29952
  write_bytes(folder_.file("a.png"), png);
  const ErrorCode code = refusal("a.png").code();
  EXPECT_TRUE(code == ErrorCode::kIo || code == ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zoetrope::media
