// SPDX-License-Identifier: Apache-2.0
// --dump DIR --steps GLOB: an observer that writes values as .npy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zoetrope/tools.h"

namespace zoetrope::cli {

class StepDump {
 public:
  // Throws kIo if `folder` is none, or not empty and not to be overwritten.
  StepDump(std::string folder, std::string glob, bool overwrite);

  // Throws kInvalidArgument if the pattern matches none of `names`, those of all values.
  void check(const std::vector<std::string>& names) const;

  // Writes every result whose name `glob` matches to FOLDER/NAME.FIRST-LAST.npy, float32 [frames,
  // height, width, channels]; FIRST and LAST count the value's own frames from the start of the
  // video, so that the files do not depend on how the video was cut, but for their number.
  void operator()(const StepEvent& event);

  bool wrote() const { return !frames_.empty(); }

 private:
  void write(const StepResult& result);

  std::string folder_;
  std::string glob_;
  std::map<std::string, int64_t, std::less<>> frames_;  // written so far, by name
  std::vector<float> values_;
};

}  // namespace zoetrope::cli
