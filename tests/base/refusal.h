// SPDX-License-Identifier: Apache-2.0
// What a call was refused with.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "zoetrope/error.h"

namespace zoetrope {

// The message of the Error that `call` throws, which must be one line and have the code `expected`.
// Anything else fails the test.
template <typename Call>
std::string refusal(ErrorCode expected, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), expected) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace zoetrope
