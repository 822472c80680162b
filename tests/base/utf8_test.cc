// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const char* text :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << printable(text);
  }
}

TEST(Utf8, RefusesWhatTheStandardRefuses) {
  for (const char* text : {"\x80",              // a continuation alone
                           "\xc1\xbf",          // overlong
                           "\xe0\x9f\xbf",      // overlong
                           "\xf0\x8f\xbf\xbf",  // overlong
                           "\xed\xa0\x80",      // a surrogate
                           "\xf4\x90\x80\x80",  // above U+10FFFF
                           "\xff", "\xc2", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x82g", "ok\xfe"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
  }
}

TEST(Utf8, PrintsOnOneLine) {
  EXPECT_EQ(printable("decoder.conv1"), "decoder.conv1");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable(std::string_view("a\nb\0\x1b", 5)), "a\\x0ab\\x00\\x1b");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(Utf8, CutsLongText) {
  const std::string printed = printable(std::string(1'000'000, 'a'));
  EXPECT_LT(printed.size(), 250U);
  EXPECT_TRUE(printed.ends_with("a..."));
  EXPECT_TRUE(is_utf8(printable("a" + std::string(300, '\xc3'))));
}

}  // namespace
}  // namespace zoetrope
