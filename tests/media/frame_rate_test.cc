// SPDX-License-Identifier: Apache-2.0
#include "media/frame_rate.h"

#include <gtest/gtest.h>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

TEST(FrameRate, ReadsNumbersFractionsAndDecimals) {
  EXPECT_EQ(parse_frame_rate("24"), (FrameRate{24, 1}));
  EXPECT_EQ(parse_frame_rate("24000/1001"), (FrameRate{24000, 1001}));
  EXPECT_EQ(parse_frame_rate("48/2"), (FrameRate{24, 1}));
  EXPECT_EQ(parse_frame_rate("12.5"), (FrameRate{25, 2}));
  EXPECT_EQ(parse_frame_rate("0.5"), (FrameRate{1, 2}));
}

TEST(FrameRate, KnowsBroadcastDecimals) {
  EXPECT_EQ(parse_frame_rate("23.976"), (FrameRate{24000, 1001}));
  EXPECT_EQ(parse_frame_rate("29.97"), (FrameRate{30000, 1001}));
  EXPECT_EQ(parse_frame_rate("59.94"), (FrameRate{60000, 1001}));
}

TEST(FrameRate, RefusesEverythingElse) {
  for (const char* text : {"", "0", "-1", "1/0", "0/5", "24fps", "1e3", "24/", "/2", ".", "24.",
                           "1001", "99999999999999999999", "1/2/3", " 24", "nan", "1.-5"}) {
    const Error error = error_of([text] { parse_frame_rate(text); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(FrameRate, WritesWhatItReads) {
  EXPECT_EQ(to_string(FrameRate{24, 1}), "24");
  EXPECT_EQ(to_string(FrameRate{24000, 1001}), "24000/1001");
}

}  // namespace
}  // namespace zoetrope::media
