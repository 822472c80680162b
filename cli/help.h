// SPDX-License-Identifier: Apache-2.0
// The text of the help pages and how they are set.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace zoetrope::cli {

extern const char* const kOverview;
extern const char* const kOverviewExamples;
extern const char* const kEncodeExamples;
extern const char* const kDecodeExamples;
extern const char* const kRoundtripExamples;
extern const char* const kInspectExamples;
extern const char* const kCompileExamples;
extern const char* const kConvertExamples;
extern const char* const kCheckExamples;
extern const char* const kBenchExamples;
extern const char* const kProfileExamples;
extern const char* const kDevicesExamples;

extern const char* const kWeightsHelp;
extern const char* const kCheckpointHelp;  // where a module does not do
extern const char* const kVideoInputHelp;
extern const char* const kVideoOutputHelp;
extern const char* const kLatentInputHelp;
extern const char* const kLatentOutputHelp;
extern const char* const kInspectInputHelp;
extern const char* const kConvertInputHelp;
extern const char* const kConvertOutputHelp;

// The same pages with every release of CLI11: description, usage, examples, then the options in
// groups, two columns, 100 wide.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace zoetrope::cli
