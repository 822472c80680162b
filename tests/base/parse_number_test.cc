// SPDX-License-Identifier: Apache-2.0
#include "base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace zoetrope {
namespace {

TEST(ParseNumber, TakesWholeTextsOnly) {
  EXPECT_EQ(parse_number<int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1e-5"), 1e-5);
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "+1", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_number<int64_t>(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace zoetrope
