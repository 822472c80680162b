// SPDX-License-Identifier: Apache-2.0
// How inspect says things, and what others say as it does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/options.h"
#include "cli/standard_streams.h"  // for print()
#include "zoetrope/tools.h"

namespace zoetrope::cli {

using Json = nlohmann::ordered_json;

// On standard output, on one line.
void print_json(const Json& object);

// "  name        value"; nothing if the value is empty.
void print_row(const char* name, const std::string& value);

// "bfloat16", or with what each half has.
std::string operands_of(const ModuleDescription& module);

// Describes a checkpoint or module. Throws as describe().
void inspect_checkpoint(const std::string& file, const Options& options);

// The Graph and the Plan of an entry, as options.compiled asks. Throw as describe_graphs() and
// describe_plan().
void inspect_graph(const std::string& file, const Options& options);
void inspect_plan(const std::string& file, const Options& options);

}  // namespace zoetrope::cli
