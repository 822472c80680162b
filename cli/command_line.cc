// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "cli/command_options.h"
#include "cli/help.h"
#include "cli/suggestion.h"
#include "zoetrope/version.h"

namespace zoetrope::cli {
namespace {

struct Parser {
  CLI::App app{"", "zoetrope"};
  TypedOptions typed;
};

void build(Parser& parser) {
  parser.app.set_help_flag("-h,--help", "this page");
  parser.app.set_version_flag("--version", "zoetrope " + std::string(version()), "the version");
  parser.app.description(kOverview);
  parser.app.require_subcommand(0, 1);  // a second word "encode" is no command
  parser.app.footer(kOverviewExamples);
  parser.app.formatter(std::make_shared<HelpFormatter>());
  for (const CommandEntry& entry : commands()) {
    CLI::App* command = parser.app.add_subcommand(entry.name, entry.description);
    command->set_help_flag("-h,--help", "this page")->group(kReport);
    command->footer(entry.examples);
    command->allow_extras();
    entry.add(command, parser.typed);
  }
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandEntry& entry : commands()) names.emplace_back(entry.name);
  return names;
}

void check_command(const std::string& word) {
  const std::vector<std::string> names = command_names();
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return;
  fail(ErrorCode::kInvalidArgument, "{}: no such command{} See zoetrope --help", word,
       suggestion(word, names).empty() ? "." : suggestion(word, names));
}

// What CLI11 could not place: an option that does not exist, or a word too much.
void check_extras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return;
  const std::string word = extras[0].substr(0, extras[0].find('='));
  if (!word.starts_with('-')) {
    fail(ErrorCode::kInvalidArgument, "{}: one argument too many. See zoetrope {} --help", word,
         command.get_name());
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = suggestion(word, names);
  fail(ErrorCode::kInvalidArgument, "{}: no such option of zoetrope {}{} See zoetrope {} --help",
       word, command.get_name(), meant.empty() ? "." : meant, command.get_name());
}

// `zoetrope help encode` is `zoetrope encode --help`.
std::vector<std::string> arguments_of(int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  if (!arguments.empty()) check_command(arguments[0]);
  return arguments;
}

// What follows "--": inputs, whatever they look like. They are taken out of `arguments`.
std::vector<std::string> take_names(std::vector<std::string>& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (mark == arguments.end()) return {};
  std::vector<std::string> names(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  return names;
}

// CLI11 drops empty words and takes the next one for the value.
void check_empty_words(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool assigned = word.starts_with("--") && word.ends_with('=');
    if (!word.empty() && !assigned) continue;
    const std::string& option = assigned || i == 0 ? word : arguments[i - 1];
    if (option.size() < 2 || !option.starts_with('-')) {
      fail(ErrorCode::kInvalidArgument, "an argument is empty: leave it out, or name a file");
    }
    fail(ErrorCode::kInvalidArgument, "{}: expected a value, found an empty one: leave it out",
         option.substr(0, option.find('=')));
  }
}

void add_names(const CLI::App& command, const std::vector<std::string>& names,
               TypedOptions& typed) {
  const bool takes_inputs = command.get_option_no_throw("INPUT") != nullptr ||
                            command.get_option_no_throw("CLIP") != nullptr ||
                            command.get_option_no_throw("FILE") != nullptr;
  if (!takes_inputs && !names.empty()) {
    fail(ErrorCode::kInvalidArgument, "{}: one argument too many. See zoetrope {} --help", names[0],
         command.get_name());
  }
  typed.inputs.insert(typed.inputs.end(), names.begin(), names.end());
}

}  // namespace

std::string overview() {
  Parser parser;
  build(parser);
  return parser.app.help();
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  Parser parser;
  build(parser);
  std::vector<std::string> arguments = arguments_of(argc, argv);
  const std::vector<std::string> names = take_names(arguments);
  check_empty_words(arguments);
  if (arguments.empty()) {
    fail(ErrorCode::kInvalidArgument, "no command. See zoetrope --help");
  }
  const std::string first = arguments[0];
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    parser.app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = parser.app.get_subcommands();
    return {{}, (chosen.empty() ? &parser.app : chosen[0])->help()};
  } catch (const CLI::CallForVersion& version_text) {
    return {{}, std::string(version_text.what()) + "\n"};
  } catch (const CLI::ExtrasError&) {
    fail(ErrorCode::kInvalidArgument, "{}: no such option. See zoetrope --help", first);
  } catch (const CLI::ParseError& error) {
    fail(ErrorCode::kInvalidArgument, "{}. See zoetrope {} --help", error.what(), first);
  }
  const auto chosen = parser.app.get_subcommands();
  check_extras(*chosen.at(0));
  add_names(*chosen[0], names, parser.typed);
  for (const CommandEntry& entry : commands()) {
    if (chosen[0]->get_name() == entry.name) return {interpret(entry.command, parser.typed), {}};
  }
  return {};
}

}  // namespace zoetrope::cli
