// SPDX-License-Identifier: Apache-2.0
// What bench and profile print and write. Nothing here depends on how long anything takes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/base/scratch_folder.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// "zoetrope bench encode" of a small job, unless `more` says otherwise.
Words job(const char* command, const char* coding, const Words& more = {}) {
  Words words = {command, coding, "--weights", "random:8"};
  for (const auto& [option, value] :
       {std::pair{"--frames", "5"}, {"--size", "24x16"}, {"--dtype", "float32"}}) {
    if (std::ranges::count(more, option) == 0) words.insert(words.end(), {option, value});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What the job writes to standard output with --json -.
json results_of(const char* command, const char* coding, Words more = {}) {
  more.insert(more.end(), {"--json", "-", "--quiet"});
  const Finished run = zoetrope(job(command, coding, more));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return json::parse(run.out, nullptr, false);
}

double sum_of(const json& rows, const char* field, const std::string& prefix = "") {
  double sum = 0;
  for (const json& row : rows) {
    if (row.at("name").get<std::string>().starts_with(prefix)) sum += row.at(field).get<double>();
  }
  return sum;
}

void expect_refused(int status, const std::string& part, const Words& words) {
  const Finished run = zoetrope(words);
  EXPECT_EQ(run.status, status) << run.err;
  EXPECT_EQ(unlike_error_line(run.err), "");
  EXPECT_THAT(run.err, HasSubstr(part));
  EXPECT_EQ(run.out, "");
}

TEST(Bench, WritesWhatGoogleBenchmarkWrites) {
  const json results = results_of("bench", "decode", {"--repetitions", "3", "--threads", "2"});
  for (const char* field : {"date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "caches",
                            "load_avg", "library_build_type"}) {
    EXPECT_TRUE(results.at("context").contains(field)) << field;
  }
  const json& rows = results.at("benchmarks");
  ASSERT_EQ(rows.size(), 7U);
  const std::string name = "decode/5x24x16/float32/base_dim:8/threads:2";
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].at("name"), name);
    EXPECT_EQ(rows[i].at("run_type"), "iteration");
    EXPECT_EQ(rows[i].at("repetition_index"), i);
    EXPECT_EQ(rows[i].at("iterations"), 1);
  }
  const std::vector<std::string> aggregates = {"mean", "median", "stddev", "cv"};
  for (size_t i = 0; i < aggregates.size(); ++i) {
    EXPECT_EQ(rows[3 + i].at("name"), fmt::format("{}_{}", name, aggregates[i]));
    EXPECT_EQ(rows[3 + i].at("run_type"), "aggregate");
    EXPECT_EQ(rows[3 + i].at("aggregate_name"), aggregates[i]);
    EXPECT_FALSE(rows[3 + i].contains("repetition_index"));
  }
  for (const json& row : rows) {
    EXPECT_EQ(row.at("run_name"), name);
    EXPECT_EQ(row.at("repetitions"), 3);
    EXPECT_EQ(row.at("threads"), 2);
    EXPECT_EQ(row.at("time_unit"), "ms");
  }
}

TEST(Bench, CountersAndStatisticsFollowFromTheTimes) {
  const json results = results_of("bench", "encode", {"--repetitions", "2"});
  const json& rows = results.at("benchmarks");
  ASSERT_EQ(rows.size(), 6U);
  const double flops = results.at("context").at("model_flops");
  const double peak = results.at("context").at("peak_flops_per_second");
  for (size_t i = 0; i < 2; ++i) {
    const double seconds = rows[i].at("real_time").get<double>() / 1e3;
    EXPECT_NEAR(rows[i].at("frames_per_second").get<double>() * seconds, 5, 1e-9);
    EXPECT_NEAR(rows[i].at("flops_per_second").get<double>() * seconds / flops, 1, 1e-9);
    EXPECT_NEAR(rows[i].at("share_of_peak").get<double>() * peak * seconds / flops, 1, 1e-9);
    EXPECT_LE(rows[i].at("first_output_ms"), rows[i].at("real_time"));
    EXPECT_GT(rows[i].at("peak_resident_bytes"), rows[i].at("library_bytes"));
    EXPECT_GT(rows[i].at("library_bytes"), 0);
  }
  for (const char* field : {"real_time", "cpu_time", "frames_per_second", "first_output_ms"}) {
    const double a = rows[0].at(field);
    const double b = rows[1].at(field);
    EXPECT_NEAR(rows[2].at(field), (a + b) / 2, 1e-9 * a) << "mean of " << field;
    EXPECT_NEAR(rows[3].at(field), (a + b) / 2, 1e-9 * a) << "median of " << field;
    const double deviation = std::abs(a - b) / std::sqrt(2.0);
    EXPECT_NEAR(rows[4].at(field), deviation, 1e-6 * a) << "stddev of " << field;
    EXPECT_NEAR(rows[5].at(field), deviation * 2 / (a + b), 1e-6) << "cv of " << field;
  }
}

TEST(Bench, PushesTensorsFromWhereItIsTold) {
  for (const char* coding : {"encode", "decode"}) {
    for (const char* place : {"bytes", "device"}) {
      const json results = results_of("bench", coding, {"--tensors", place});
      const std::string name = results.at("benchmarks").at(0).at("name");
      EXPECT_TRUE(name.ends_with(fmt::format("/tensors:{}", place))) << name;
      EXPECT_EQ(results.at("context").at("latents_per_step"), 1);
    }
  }
  expect_refused(2, "--tensors", job("bench", "encode", {"--tensors", "disk"}));
}

TEST(Bench, PrintsATableBesideTheFile) {
  const ScratchFolder folder;
  const std::string path = folder.path("new.json");
  const Finished run =
      zoetrope(job("bench", "encode", {"--json", path, "--repetitions", "2", "--warmup", "0"}));
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char* word : {"encode/5x24x16/float32", "run 1", "run 2", "mean", "median", "stddev",
                           "cv", "frames/s", "first output", "of peak"}) {
    EXPECT_THAT(run.out, HasSubstr(word));
  }
  EXPECT_EQ(json::parse(read_file(path)).at("benchmarks").size(), 6U);
  EXPECT_EQ(names_in(folder.path()), Words{"new.json"});
}

class BenchBaseline : public ::testing::Test {
 protected:
  void SetUp() override {
    results_ = results_of("bench", "encode", {"--repetitions", "2", "--threads", "2"});
  }

  // Against `old`, written to a file.
  Words against(const std::string& old, const Words& more = {"--threads", "2"}) const {
    Words words = job("bench", "encode", {"--baseline", folder_.write("old.json", old)});
    words.insert(words.end(), {"--repetitions", "2", "--warmup", "0"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  ScratchFolder folder_;
  json results_;
};

TEST_F(BenchBaseline, PrintsRatiosForEachRow) {
  json slow = results_;
  for (json& row : slow["benchmarks"]) row["real_time"] = 1e9;
  for (json& row : slow["benchmarks"]) row["frames_per_second"] = 1e9;
  const Finished run = zoetrope(against(slow.dump()));
  EXPECT_EQ(run.status, 0) << run.err;
  const size_t at = run.out.find("new / old");
  ASSERT_NE(at, std::string::npos);
  const std::string ratios = run.out.substr(at);
  for (const char* row : {"run 1", "run 2", "mean", "median", "stddev", "cv"}) {
    EXPECT_THAT(ratios, HasSubstr(row));
  }
  EXPECT_THAT(ratios, HasSubstr("0.000 ▲")) << "a shorter time is better";
  EXPECT_THAT(ratios, HasSubstr("0.000 ▼")) << "fewer frames a second are worse";
  EXPECT_THAT(ratios, HasSubstr("1.000 =")) << "the library's memory is the same";
}

TEST_F(BenchBaseline, ForgivesOtherConditionsAndNamesThem) {
  json other = results_;
  other["context"]["processor"] = "Abacus 3000";
  const Finished run = zoetrope(against(other.dump()));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("note:"), HasSubstr("Abacus 3000")));
}

TEST_F(BenchBaseline, PrintsItsTextsOnOneLineInWholeCharacters) {
  json other = results_;
  other["context"]["date"] = "today\n\x1b[31mred";
  std::string name(79, 'x');
  for (int i = 0; i < 10; ++i) name += "\u00e9";  // byte 80 is the first half of one
  other["context"]["processor"] = name;
  const Finished run = zoetrope(against(other.dump()));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("of today  [31mred\n"));
  EXPECT_THAT(run.err, HasSubstr("its processor is " + name.substr(0, 79) + "..., here"));
}

TEST_F(BenchBaseline, TellsATextFromANumber) {
  json other = results_;
  other["context"]["frames"] = "5";
  expect_refused(2, "its frames is the text \"5\", here it is 5", against(other.dump()));
}

TEST_F(BenchBaseline, RefusesAnotherJobAndNamesTheDifference) {
  const std::string old = results_.dump();
  expect_refused(2, "its threads is 2, here it is 1", against(old, {"--threads", "1"}));
  for (const auto& [field, value] : {std::pair<const char*, json>{"frames", 81},
                                     {"command", "decode"},
                                     {"dtype", "bfloat16"},
                                     {"base_dim", 96},
                                     {"width", json::array({1})}}) {
    json other = results_;
    other["context"][field] = value;
    expect_refused(2, fmt::format("its {}", field), against(other.dump()));
    other["context"].erase(field);
    expect_refused(2, fmt::format("its {}", field), against(other.dump()));
  }
}

TEST_F(BenchBaseline, RefusesWhatIsNoResult) {
  const std::string old = results_.dump();
  json foreign = results_;
  foreign["context"].erase("zoetrope_version");
  json textual = results_;
  textual["benchmarks"][1]["cpu_time"] = "long";
  json flat = results_;
  flat["benchmarks"] = json::array({1, 2});
  expect_refused(3, "no JSON", against(old.substr(0, old.size() / 2)));
  expect_refused(3, "no JSON", against(""));
  expect_refused(3, "no \"context\"", against("{}"));
  expect_refused(3, "another program", against(foreign.dump()));
  expect_refused(3, "cpu_time", against(textual.dump()));
  json negative = results_;
  negative["benchmarks"][0]["real_time"] = -1;
  expect_refused(3, "a row whose real_time is -1", against(negative.dump()));
  expect_refused(3, "no object", against(flat.dump()));
  expect_refused(3, "found no JSON", against(std::string(1'000'000, '[')));
  json deep = results_;
  deep["context"]["frames"] = "DEEP";
  std::string text = deep.dump();
  text.replace(text.find("\"DEEP\""), 6, std::string(100'000, '[') + std::string(100'000, ']'));
  expect_refused(2, "its frames is", against(text));
  expect_refused(3, "nowhere.json",
                 job("bench", "encode", {"--baseline", folder_.path("nowhere.json")}));
}

TEST(ProfileBaseline, RefusesTimesThatCannotBe) {
  const ScratchFolder folder;
  json old = results_of("profile", "encode");
  old["profile"]["total"]["seconds"] = -1;
  const Finished run = zoetrope(
      job("profile", "encode", {"--baseline", folder.write("old.json", old.dump()), "--quiet"}));
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("found a step of -1 seconds"));
}

class ProfileRows : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ProfileRows, SumUp) {
  const auto& [coding, by] = GetParam();
  const json profile = results_of("profile", coding, {"--by", by}).at("profile");
  const json& rows = profile.at("rows");
  ASSERT_FALSE(rows.empty());
  const double outside = profile.at("outside_steps").at("share");
  EXPECT_GE(outside, 0);
  EXPECT_NEAR(sum_of(rows, "share") + outside, 1, 1e-9);
  for (const char* field : {"calls", "seconds", "flops", "bytes"}) {
    const double whole = profile.at("total").at(field);
    const double parts = profile.at("convs").at(field).get<double>() +
                         profile.at("other_steps").at(field).get<double>() +
                         profile.at("outside_steps").at(field).get<double>();
    EXPECT_NEAR(parts / whole, 1, 1e-9) << field;
    const double rest = profile.at("outside_steps").at(field);
    EXPECT_NEAR((sum_of(rows, field) + rest) / whole, 1, 1e-9) << field;
  }
  double before = rows[0].at("seconds");
  for (const json& row : rows) {
    EXPECT_LE(row.at("seconds").get<double>(), before) << "the slowest comes first";
    before = row.at("seconds");
    EXPECT_GT(row.at("bytes"), 0) << row.at("name");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProfileRows,
                         ::testing::Combine(::testing::Values("encode", "decode"),
                                            ::testing::Values("layer", "kernel", "step")));

TEST(Profile, CountsTheModelsArithmeticWhereNothingIsSaved) {
  const Words plain = {"--disable-pass", "fold-linear", "--disable-pass", "fold-upsample"};
  for (const char* coding : {"encode", "decode"}) {
    Words by_step = plain;
    by_step.insert(by_step.end(), {"--by", "step"});
    const json five = results_of("profile", coding, by_step);
    Words one_frame = plain;
    one_frame.insert(one_frame.end(), {"--frames", "1"});
    const json one = results_of("profile", coding, one_frame);
    const double published = five.at("context").at("model_flops").get<double>() -
                             one.at("context").at("model_flops").get<double>();
    const std::string next = fmt::format("{}.next ", coding);
    const double made = sum_of(five.at("profile").at("rows"), "flops", next);
    EXPECT_NEAR(made / published, 1, 1e-9) << "of the step after the first";
    EXPECT_LT(one.at("profile").at("total").at("flops"), one.at("context").at("model_flops"))
        << "the first step leaves out taps on the empty history";
  }
}

TEST(Profile, AveragesOverRepetitions) {
  const json once = results_of("profile", "encode", {"--by", "kernel"}).at("profile");
  const json thrice =
      results_of("profile", "encode", {"--by", "kernel", "--repetitions", "3"}).at("profile");
  for (const char* field : {"calls", "flops", "bytes"}) {
    EXPECT_NEAR(once.at("total").at(field).get<double>(), thrice.at("total").at(field), 1e-3)
        << field;
  }
}

TEST(Profile, PrintsEveryRowAndTheSplit) {
  const Finished run = zoetrope(job("profile", "decode", {"--by", "kernel"}));
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char* word : {"calls", "GFLOP", "of roofline", "attention", "carry", "convs",
                           "other steps", "outside steps", "total", "published model"}) {
    EXPECT_THAT(run.out, HasSubstr(word));
  }
}

TEST(Profile, GivesStandardOutputToTheJson) {
  const Finished run = zoetrope(job("profile", "decode", {"--json", "-"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_FALSE(json::parse(run.out, nullptr, false).is_discarded());
  EXPECT_THAT(run.err, HasSubstr("of roofline"));
}

TEST(MeasuredJobs, RefuseWhatMeansNothing) {
  for (const char* command : {"bench", "profile"}) {
    expect_refused(2, "expected encode or decode", {command, "--weights", "random:8"});
    expect_refused(2, "expected encode or decode", job(command, "transcode"));
    expect_refused(2, "--weights", {command, "encode"});
    expect_refused(2, "one argument too many", job(command, "encode", {"decode"}));
    expect_refused(2, "such as 5 or 9", job(command, "encode", {"--frames", "6"}));
    expect_refused(2, "--frames 0", job(command, "encode", {"--frames", "0"}));
    expect_refused(2, "--frames 1e9", job(command, "encode", {"--frames", "1e9"}));
    expect_refused(2, "16x24 is the next smaller", job(command, "decode", {"--size", "20x24"}));
    expect_refused(2, "expected WxH", job(command, "decode", {"--size", "16"}));
    expect_refused(2, "--size 0x16:", job(command, "decode", {"--size", "0x16"}));
    expect_refused(2, "expected WxH", job(command, "decode", {"--size", "16x99999999999"}));
    expect_refused(6, "use a smaller size",
                   job(command, "decode", {"--size", "16384x16384", "--memory-limit", "1GiB"}));
    expect_refused(2, "--repetitions 0", job(command, "encode", {"--repetitions", "0"}));
    expect_refused(2, "--warmup -1", job(command, "encode", {"--warmup=-1"}));
  }
  expect_refused(2, "--by colour", job("profile", "encode", {"--by", "colour"}));
}

TEST(MeasuredJobs, FindBeforeTheWorkThatTheFileCannotBeWritten) {
  const ScratchFolder folder;
  const std::string there = folder.write("there.json", "precious");
  for (const char* command : {"bench", "profile"}) {
    // Weights that are not there would be found next.
    const auto words = [&](const std::string& path) {
      return Words{command, "encode", "--weights", "none.pth", "--json", path};
    };
    expect_refused(3, "does not exist", words(folder.path("nowhere/new.json")));
    expect_refused(3, "folder", words(folder.path()));
    expect_refused(3, "-y replaces it", words(there));
    expect_refused(4, "none.pth", words(folder.path("new.json")));
  }
  EXPECT_EQ(read_file(there), "precious");
  EXPECT_EQ(names_in(folder.path()), Words{"there.json"});
  EXPECT_EQ(zoetrope(job("profile", "encode", {"--json", there, "-y"})).status, 0);
  EXPECT_TRUE(json::parse(read_file(there)).contains("profile"));
}

TEST(MeasuredJobs, StopWhenInterrupted) {
  const ScratchFolder folder;
  for (const char* command : {"bench", "profile"}) {
    Program program({command, "decode", "--weights", "random:8", "--frames", "100001", "--size",
                     "256x256", "--json", folder.path("new.json")});
    // Long enough to be at work; if not, the signal ends the program with the same status.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    program.send(SIGINT);
    EXPECT_EQ(program.wait().status, 130);
  }
  EXPECT_EQ(names_in(folder.path()), Words{});
}

}  // namespace
}  // namespace zoetrope::testing
