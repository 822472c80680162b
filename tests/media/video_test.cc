// SPDX-License-Identifier: Apache-2.0
#include "media/video.h"

#include <gtest/gtest.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

TEST(FrameRange, IsHalfOpen) {
  EXPECT_EQ(parse_frame_range("3:7").begin, 3);
  EXPECT_EQ(parse_frame_range("3:7").end, 7);
  EXPECT_EQ(parse_frame_range(":7").begin, 0);
  EXPECT_EQ(parse_frame_range("3:").end, std::nullopt);
  EXPECT_EQ(parse_frame_range(":").end, std::nullopt);
}

TEST(FrameRange, RefusesEverythingElse) {
  for (const char* text : {"", "3", "7:3", "3:3", "-1:3", ":-1", "a:b", "1:2:3", "1: 2"}) {
    const Error error = error_of([text] { parse_frame_range(text); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(VideoOptions, AreNamed) {
  EXPECT_EQ(parse_matrix("bt709"), Matrix::kBt709);
  EXPECT_EQ(parse_alpha_policy("white"), AlphaPolicy::kWhite);
  EXPECT_EQ(parse_layout("cthw"), Layout::kCTHW);
  EXPECT_EQ(parse_range("unit"), Range::kUnit);
  EXPECT_EQ(error_of([] { parse_matrix("bt2020"); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([] { parse_alpha_policy("refuse"); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([] { parse_layout("nchw"); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([] { parse_range("0-1"); }).code(), ErrorCode::kInvalidArgument);
}

TEST(VideoWriter, RefusesEmptyFrames) {
  const Error error = error_of([] { open_video_writer("x.npy", {.height = 0, .width = 8}); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace zoetrope::media
