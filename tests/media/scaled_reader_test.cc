// SPDX-License-Identifier: Apache-2.0
// --size: what is scaled as it is read.
#include <gtest/gtest.h>

#include "media/npy.h"
#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

class ScaledReaderTest : public testing::Test {
 protected:
  // uint8 [frames, height, width, 3]; frame i is uniformly 10 i.
  std::string array(int64_t frames, int64_t height, int64_t width) {
    const std::vector<int64_t> shape = {frames, height, width, 3};
    std::string bytes = npy_header(DType::kUInt8, shape);
    for (int64_t i = 0; i < frames; ++i) {
      bytes += std::string(static_cast<size_t>(height * width * 3), static_cast<char>(10 * i));
    }
    write_bytes(folder_.file("a.npy"), bytes);
    return folder_.file("a.npy");
  }
  ScratchFolder folder_;
};

TEST_F(ScaledReaderTest, ScalesTheFramesThatWereAskedFor) {
  const Clip clip = read_clip(array(5, 20, 30), {.range = {1, 4}, .size = FrameSize{10, 15}});
  EXPECT_EQ(clip.info.height, 10);
  EXPECT_EQ(clip.info.width, 15);
  EXPECT_EQ(clip.info.frames, 3);
  ASSERT_EQ(clip.frames, 3);
  for (size_t i = 0; i < clip.bytes.size(); ++i) {
    ASSERT_EQ(clip.bytes[i], 10 * (1 + i / (10 * 15 * 3)));
  }
}

TEST_F(ScaledReaderTest, SaysOnlyThatTheAspectRatioChanges) {
  const std::string path = array(1, 20, 30);
  for (const FrameSize& size : {FrameSize{20, 30}, FrameSize{10, 15}, FrameSize{7, 11}}) {
    EXPECT_FALSE(read_clip(path, {.size = size}).said("aspect")) << size.width;
  }
  const Clip clip = read_clip(path, {.size = FrameSize{20, 20}});
  EXPECT_TRUE(clip.said("30x20 is scaled to 20x20, another aspect ratio (20x13 or 30x20 keep it)"))
      << clip.notices.back();
}

TEST_F(ScaledReaderTest, SizesAreWidthThenHeight) {
  EXPECT_EQ(parse_frame_size("832x480"), (FrameSize{480, 832}));
  EXPECT_EQ(parse_frame_size("16384x1"), (FrameSize{1, 16384}));
  for (const char* text :
       {"", "x", "832", "832x", "x480", "0x480", "832x0", "-8x8", "8x-8", "8x8x8", "8 x8", "8X8",
        "8.5x8", "16385x8", "8x99999999999999999999", "axb"}) {
    const Error error = error_of([text] { parse_frame_size(text); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(std::string(error.what()).find("832x480"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace zoetrope::media
