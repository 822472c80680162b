// SPDX-License-Identifier: Apache-2.0
// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#include "zoetrope/export.h"

namespace zoetrope {
inline namespace v0 {

enum class ErrorCode {
  kInvalidArgument,  // the call or the command line is wrong
  kIo,               // an input or output file, or its content
  kCheckpoint,       // weights that cannot be read or do not fit the model
  kUnsupported,      // valid, but this build, device or model cannot do it
  kOutOfMemory,      // the message says how much was needed and what lowers it
  kDevice,           // a device is missing or failed
  kCancelled,        // the cancel callback asked to stop
  kInternal,         // a bug in Zoetrope
};

// what() is one line: the thing, what was expected, what was found, and the way out.
class ZOETROPE_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace v0
}  // namespace zoetrope
