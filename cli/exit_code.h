// SPDX-License-Identifier: Apache-2.0
// What the program's exit status says.
#pragma once

#include "zoetrope/error.h"

namespace zoetrope::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitDifferent = 1;   // --expect or check found a difference
inline constexpr int kExitSomeFailed = 8;  // of many inputs

inline int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kIo:
      return 3;
    case ErrorCode::kCheckpoint:
      return 4;
    case ErrorCode::kUnsupported:
      return 5;
    case ErrorCode::kOutOfMemory:
      return 6;
    case ErrorCode::kDevice:
      return 7;
    case ErrorCode::kCancelled:
      return 130;
    case ErrorCode::kInternal:
      break;
  }
  return 70;
}

}  // namespace zoetrope::cli
