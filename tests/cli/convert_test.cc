// SPDX-License-Identifier: Apache-2.0
// The command around zoetrope::convert, which tests/runtime/convert_test.cc covers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/base/scratch_folder.h"
#include "tests/cli/program.h"

namespace zoetrope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConvertCommand : public ::testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string output_ = folder_.path("out.gguf");
};

TEST_F(ConvertCommand, WritesWhatOtherCommandsTakeAsWeights) {
  const Finished done = zoetrope({"convert", "random:8", "-o", output_, "--dtype", "bfloat16"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("random:8 (random) -> "));
  EXPECT_THAT(done.out, HasSubstr("194 tensors, 1.8 MiB\n"));
  EXPECT_EQ(done.err, "");
  const Finished inspected = zoetrope({"inspect", output_});
  EXPECT_THAT(inspected.out, HasSubstr("format      gguf"));
  EXPECT_THAT(inspected.out, HasSubstr("wan2.1, published names"));
}

TEST_F(ConvertCommand, AnswersInJson) {
  const Finished done =
      zoetrope({"convert", "random:8", "-o", folder_.path("vae/"), "--json", "--progress", "json"});
  const auto line = nlohmann::json::parse(done.out);
  EXPECT_EQ(line["tensors"], 194);
  EXPECT_EQ(line["renamed"], 194);
  EXPECT_EQ(line["unknown"], nlohmann::json::array());
  EXPECT_THAT(done.err, HasSubstr("converting"));
  EXPECT_EQ(names_in(folder_.path("vae")),
            (Words{"config.json", "diffusion_pytorch_model.safetensors"}));
}

TEST_F(ConvertCommand, ReplacesOnlyWhenAsked) {
  folder_.write("out.gguf", "mine");
  const Words words = {"convert", "random:8", "-o", output_};
  expect_failure(folder_.path(), 3, "exists already: add -y to replace it", words);
  EXPECT_EQ(read_file(output_), "mine");
  EXPECT_EQ(zoetrope({"convert", "random:8", "-o", output_, "-y", "--quiet"}).out, "");
  EXPECT_EQ(read_file(output_).substr(0, 4), "GGUF");
  folder_.write("folder/mine", "mine");
  expect_failure(folder_.path(), 3, "found mine in it",
                 {"convert", "random:8", "-o", folder_.path("folder/"), "-y"});
}

// Files may not grow beyond 8 KiB (16 blocks).
TEST_F(ConvertCommand, NamesAnOutputThatCannotBeWritten) {
  const ScratchFolder messages;
  const std::string command =
      fmt::format("ulimit -f 16; trap '' XFSZ; {} convert random:8 -o {} 2> {}", ZOETROPE_PROGRAM,
                  output_, messages.path("err"));
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_THAT(read_file(messages.path("err")),
              AllOf(HasSubstr(output_ + ": cannot write"), HasSubstr("ulimit -f")));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(ConvertCommand, RefusesWhatMeansNothing) {
  const auto refused = [&](int status, const std::string& part, const Words& words) {
    expect_failure(folder_.path(), status, part, words);
  };
  refused(2, "expected one checkpoint to convert, found 0", {"convert", "-o", output_});
  refused(2, "no output: name it with -o", {"convert", "random:8"});
  refused(2, "--to pth: expected safetensors, gguf, irpa or diffusers",
          {"convert", "random:8", "-o", output_, "--to", "pth"});
  refused(2, "--names comfy: expected published or diffusers",
          {"convert", "random:8", "-o", output_, "--names", "comfy"});
  refused(2, "--dtype int8: expected float32, bfloat16 or float16",
          {"convert", "random:8", "-o", output_, "--dtype", "int8"});
  refused(2, "expected an output named", {"convert", "random:8", "-o", folder_.path("out")});
  refused(3, "found a folder", {"convert", "random:8", "-o", ".", "--to", "gguf", "-y"});
  refused(3, "this folder cannot be replaced",
          {"convert", "random:8", "-o", folder_.path("."), "--to", "diffusers", "-y"});
  refused(4, "No such file", {"convert", folder_.path("none"), "-o", output_});
}

}  // namespace
}  // namespace zoetrope::testing
