// SPDX-License-Identifier: Apache-2.0
// The commands and the options that each takes.
#pragma once

#include <span>

#include "cli/options.h"

namespace CLI {
class App;
}

namespace zoetrope::cli {

// The group of options, on each command's help page, that also has --help.
inline constexpr const char* kReport = "What is said";

struct CommandEntry {
  Command command;
  const char* name;
  const char* description;
  const char* examples;
  void (*add)(CLI::App*, TypedOptions&);  // its arguments and options
};

std::span<const CommandEntry> commands();

}  // namespace zoetrope::cli
