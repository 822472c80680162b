// SPDX-License-Identifier: Apache-2.0
// From argv to Options, and the help pages.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"

namespace zoetrope::cli {

struct CommandLine {
  Options options;
  std::optional<std::string> answer;  // a help page or the version: to be printed, and no more
};

// Throws kInvalidArgument, naming what was meant where that can be guessed; see also interpret().
CommandLine parse_command_line(int argc, const char* const* argv);

// The first help page.
std::string overview();

}  // namespace zoetrope::cli
