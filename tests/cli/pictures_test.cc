// SPDX-License-Identifier: Apache-2.0
// profile --trace, --html and --baseline, and bench --sweep. Nothing here depends on how long
// anything takes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/base/scratch_folder.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Of nine frames, unless `more` says otherwise.
Words profile(const Words& more) {
  Words words = {"profile", "decode",  "--weights", "random:8", "--size",
                 "24x16",   "--dtype", "float32",   "--warmup", "0"};
  if (std::ranges::count(more, "--frames") == 0) words.insert(words.end(), {"--frames", "9"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class Trace : public ::testing::Test {
 protected:
  void SetUp() override {
    const Finished run = zoetrope(profile({"--trace", folder_.path("trace.json"), "--quiet"}));
    ASSERT_EQ(run.status, 0) << run.err;
    trace_ = json::parse(read_file(folder_.path("trace.json")));
    for (const json& event : trace_.at("traceEvents")) {
      by_phase_[event.at("ph").get<std::string>()].push_back(event);
    }
  }

  ScratchFolder folder_;
  json trace_;
  std::map<std::string, std::vector<json>> by_phase_;
};

TEST_F(Trace, HoldsWhatTheFormatAsksFor) {
  EXPECT_EQ(trace_.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace_.at("otherData").at("command"), "decode");
  EXPECT_EQ(by_phase_.size(), 3U) << "slices, counters and names";
  for (const json& slice : by_phase_.at("X")) {
    EXPECT_GE(slice.at("ts").get<double>(), 0);
    EXPECT_GE(slice.at("dur").get<double>(), 0);
    EXPECT_FALSE(slice.at("name").get<std::string>().empty());
  }
}

TEST_F(Trace, NamesEveryTrackThatHasSlices) {
  std::map<int, std::string> names;
  for (const json& event : by_phase_.at("M")) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  for (const json& slice : by_phase_.at("X")) EXPECT_TRUE(names.contains(slice.at("tid")));
  EXPECT_EQ(names.at(1), "entries");
  EXPECT_THAT(names.at(2), HasSubstr("steps, cpu-"));
  EXPECT_THAT(names.at(3), HasSubstr("copies, cpu-"));
}

// Viewers drop slices that cross others on their track.
TEST_F(Trace, SlicesOfATrackDoNotCross) {
  std::map<int, double> ends;
  for (const json& slice : by_phase_.at("X")) {
    double& end = ends[slice.at("tid")];
    constexpr double kRounding = 1e-6;  // of microseconds printed in decimal
    EXPECT_GE(slice.at("ts").get<double>(), end - kRounding) << slice.at("name");
    end = slice.at("ts").get<double>() + slice.at("dur").get<double>();
  }
  EXPECT_EQ(ends.size(), 3U);
}

TEST_F(Trace, ShowsEntriesStepsCopiesAndMemory) {
  std::multiset<std::string> names;
  for (const json& slice : by_phase_.at("X")) names.insert(slice.at("name"));
  EXPECT_EQ(names.count("decode.first"), 1U);
  EXPECT_EQ(names.count("decode.next"), 2U);
  EXPECT_EQ(names.count("copy_in latent"), 3U);
  EXPECT_EQ(names.count("copy_out decoder.head.2"), 3U);
  EXPECT_EQ(names.count("decoder.middle.1"), 3U);
  double most = 0;
  for (const json& counter : by_phase_.at("C")) {
    most = std::max(most, counter.at("args").at("values").get<double>());
    EXPECT_GT(counter.at("args").at("weights"), 0);
    EXPECT_GT(counter.at("args").at("histories"), 0);
  }
  EXPECT_GT(most, 0);
  EXPECT_EQ(by_phase_.at("C").back().at("args").at("values"), 0);
}

class Page : public ::testing::Test {
 protected:
  std::string html(const Words& more = {}) const {
    Words words = more;
    words.insert(words.end(), {"--html", folder_.path("report.html"), "-y", "--quiet"});
    const Finished run = zoetrope(profile(words));
    EXPECT_EQ(run.status, 0) << run.err;
    return read_file(folder_.path("report.html"));
  }

  std::string write_baseline() const {
    const std::string path = folder_.path("old.json");
    EXPECT_EQ(zoetrope(profile({"--json", path, "-y", "--quiet"})).status, 0);
    return path;
  }

  ScratchFolder folder_;
};

size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++number;
  return number;
}

TEST_F(Page, NeedsNothingBesideItself) {
  const std::string page = html();
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("src=")),
                          Not(HasSubstr("<script")), Not(HasSubstr("url("))));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST_F(Page, ShowsEveryStepInTablesAndOnTheRoofline) {
  const std::string page = html();
  const Finished run = zoetrope(profile({"--by", "step", "--json", "-", "--quiet"}));
  const json rows = json::parse(run.out).at("profile").at("rows");
  EXPECT_EQ(count(page, "<circle "), rows.size());
  for (const json& row : rows) {
    const std::string name = row.at("name");
    EXPECT_GE(count(page, "<td class=\"left name\">" + name + "<br>"), 1U) << name;
  }
  EXPECT_EQ(count(page, "<svg role=\"img\""), 3U);
  EXPECT_EQ(count(page, "aria-label="), 3U);
  EXPECT_THAT(page, HasSubstr("Time line of decode.next"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST_F(Page, ShowsTheFirstEntryOfAnImage) {
  EXPECT_THAT(html({"--frames", "1"}), HasSubstr("Time line of decode.first"));
}

TEST_F(Page, ComparesWithAnEarlierRun) {
  json old = json::parse(read_file(write_baseline()));
  old["context"]["processor"] = "Abacus <3000>";
  for (json& step : old["profile"]["steps"]) {
    if (step.at("name") == "decode.next attention decoder.middle.1.attention") {
      step["seconds"] = 1000;
    }
  }
  old["profile"]["steps"].push_back({{"name", "decode.next conv of old"}, {"seconds", 500}});
  const std::string path = folder_.write("changed.json", old.dump());
  const std::string page = html({"--baseline", path});
  EXPECT_THAT(page, HasSubstr("Compared with " + path));
  EXPECT_THAT(page, HasSubstr("Not the same: " + path + ": its processor is Abacus &lt;3000&gt;"));
  EXPECT_THAT(page,
              HasSubstr("decode.next attention decoder.middle.1.attention</td><td>1000000.00"));
  EXPECT_THAT(page, HasSubstr("<td class=\"left good\">0.000 ▲ faster</td>"));
  EXPECT_THAT(page, HasSubstr("decode.next conv of old</td><td>500000.00</td><td>–</td>"));
  const Finished run = zoetrope(profile({"--baseline", path}));
  EXPECT_THAT(run.out, AllOf(HasSubstr("the largest differences"), HasSubstr("▲ faster"),
                             HasSubstr("gone")));
}

TEST_F(Page, RefusesABaselineOfAnotherJobOrProgram) {
  const std::string old = write_baseline();
  const auto refuse = [&](int status, const std::string& part, const Words& more) {
    Words words = more;
    words.insert(words.end(), {"--html", folder_.path("none.html")});
    expect_failure(folder_.path(), status, part, profile(words));
  };
  refuse(2, "its frames is 9, here it is 5", {"--frames", "5", "--baseline", old});
  const std::string bench = folder_.write("bench.json", R"({"context":{"zoetrope_version":"0"},)"
                                                        R"("benchmarks":[{"name":"x"}]})");
  refuse(3, "expected the JSON that zoetrope profile --json writes", {"--baseline", bench});
  json other = json::parse(read_file(old));
  other["profile"].erase("steps");
  refuse(3, "found no \"steps\"", {"--baseline", folder_.write("a.json", other.dump())});
  other["profile"]["steps"] = {{{"name", "x"}, {"seconds", "long"}}};
  refuse(3, "a step without seconds", {"--baseline", folder_.write("b.json", other.dump())});
  other["profile"]["steps"] = {1};
  refuse(3, "a step without a name", {"--baseline", folder_.write("c.json", other.dump())});
}

TEST_F(Page, FindsBeforeTheWorkThatAFileCannotBeWritten) {
  const std::string there = folder_.write("there", "precious");
  for (const char* option : {"--html", "--trace"}) {
    const auto words = [&](const std::string& path) {
      return Words{"profile", "decode", "--weights", "none.pth", option, path};
    };
    expect_failure(folder_.path(), 3, fmt::format("{} {}: exists; -y replaces it", option, there),
                   words(there));
    expect_failure(folder_.path(), 3, "found a folder", words(folder_.path()));
    expect_failure(folder_.path(), 3, "does not exist", words(folder_.path("nowhere/x")));
    expect_failure(folder_.path(), 2, "--json alone", words("-"));
  }
  const std::string same = folder_.path("same");
  expect_failure(folder_.path(), 2, "the same file as --trace",
                 {"profile", "decode", "--weights", "none.pth", "--trace", same, "--html", same});
}

TEST(Sweep, HasARowForEachJob) {
  const Finished run =
      zoetrope({"bench", "encode", "--sweep", "--weights", "random:8", "--dtype", "float32",
                "--threads", "2", "--frames", "1,5", "--size", "16x16,24x16", "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json results = json::parse(run.out);
  EXPECT_EQ(results.at("context").at("sweep"), true);
  EXPECT_FALSE(results.at("context").contains("frames"));
  std::vector<std::string> names;
  for (const json& row : results.at("benchmarks")) {
    names.push_back(row.at("name"));
    EXPECT_GT(row.at("peak_resident_bytes"), 0);
  }
  const std::string rest = "/float32/base_dim:8/threads:2";
  EXPECT_THAT(names, ::testing::ElementsAre("encode/1x16x16" + rest, "encode/5x16x16" + rest,
                                            "encode/1x24x16" + rest, "encode/5x24x16" + rest));
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("sweep of encode/float32"), HasSubstr("24x16             5")));
}

TEST(Sweep, KeepsTheMedianOfRepetitions) {
  const Finished run =
      zoetrope({"bench", "decode", "--sweep", "--weights", "random:8", "--frames", "1", "--size",
                "16x16", "--repetitions", "3", "--json", "-", "--quiet"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out).at("benchmarks").size(), 3U + 4U);
}

TEST(Sweep, RefusesWhatMeansNothing) {
  const ScratchFolder folder;
  const auto refuse = [&](const std::string& part, const Words& more) {
    Words words = {"bench", "decode", "--weights", "random:8"};
    words.insert(words.end(), more.begin(), more.end());
    expect_failure(folder.path(), 2, part, words);
  };
  refuse("with a --sweep of many", {"--sweep", "--baseline", "x.json"});
  refuse("--frames : expected", {"--sweep", "--frames", "1,"});
  refuse("such as 5 or 9", {"--sweep", "--frames", "1,6", "--size", "16x16"});
  refuse("expected multiples of 8", {"--sweep", "--size", "16x16,20x16"});
  refuse("expected WxH", {"--sweep", "--size", "16x16,big"});
  refuse("--frames 1,5: expected", {"--frames", "1,5"});
  refuse("expected WxH", {"--size", "16x16,24x24"});
}

}  // namespace
}  // namespace zoetrope::testing
