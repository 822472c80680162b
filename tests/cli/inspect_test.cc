// SPDX-License-Identifier: Apache-2.0
// How a model is compiled, as inspect tells it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/base/scratch_folder.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Inspect, ShowsThePlanOfAnEntry) {
  const Words words = {"inspect",  "random:8", "--plan", "decode.next", "--target",
                       "cpu-avx2", "--size",   "64x32",  "--frames",    "9"};
  const Finished shown = zoetrope(words);
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("decode.next for cpu-avx2 in float32"));
  EXPECT_THAT(shown.out, HasSubstr("64x32, 9 frames"));
  EXPECT_THAT(shown.out, HasSubstr("the whole frame"));
  EXPECT_THAT(shown.out, HasSubstr("not conv3d_f32_winograd_avx2: only for 3x3 taps"));
  Words as_json = words;
  as_json.emplace_back("--json");
  const json plan = json::parse(zoetrope(as_json).out);
  EXPECT_EQ(plan["kind"], "plan");
  EXPECT_EQ(plan["width"], 64);
  EXPECT_GT(plan["steps"].size(), 50U);
  EXPECT_EQ(plan["memory"]["total"],
            plan["memory"]["weights"].get<int64_t>() + plan["memory"]["state"].get<int64_t>() +
                plan["memory"]["arena"].get<int64_t>() + plan["memory"]["scratch"].get<int64_t>());
}

TEST(Inspect, ShowsWhatAPassDoes) {
  const Finished shown =
      zoetrope({"inspect", "random:8", "--pass", "fold-upsample", "--target", "cpu-avx2"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("3 changes"));
  EXPECT_THAT(shown.out, HasSubstr("\n-   %decoder.upsamples.3.resample.0 = upsample_nearest("));
  EXPECT_THAT(shown.out, HasSubstr("\n+   %decoder.upsamples.3.resample.1 = conv("));
  const Finished all = zoetrope({"inspect", "random:8", "--graph", "encode.first", "--json"});
  const json graphs = json::parse(all.out)["graphs"];
  EXPECT_EQ(graphs[0]["graph"][0], "graph encode.first");
  EXPECT_EQ(graphs.back()["pass"], "fuse-norm");
}

TEST(Inspect, RefusesWhatMeansNothing) {
  const ScratchFolder folder;
  const auto fails = [&](const char* part, Words words) {
    words.insert(words.begin(), {"inspect", "random:8"});
    expect_failure(folder.path(), 2, part, words);
  };
  fails("found decode", {"--plan", "decode"});
  fails("fold-linear", {"--pass", "fold"});
  fails("not both", {"--plan", "decode.next", "--pass", "fuse-norm"});
  fails("--tensors lists those of a checkpoint", {"--plan", "decode.next", "--tensors"});
  fails("only with --plan", {"--size", "64x64"});
  fails("only with --plan", {"--graph", "decode.next", "--frames", "9"});
  fails("only with --plan or --graph", {"--target", "cpu-avx2"});
  fails("only with --plan or --graph", {"--dtype", "float32"});
  fails("cpu-avx2", {"--plan", "decode.next", "--target", "pentium"});
  fails("4k + 1", {"--plan", "decode.next", "--frames", "10"});
}

}  // namespace
}  // namespace zoetrope::testing
