// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_dict.h"

#include <gtest/gtest.h>

#include "tests/base/refusal.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace p = pickle;

std::string entry(const std::string& key, const std::string& value) { return p::text(key) + value; }

// Names of the tensors in a pickle with this body.
std::vector<std::string> names(const std::string& body) {
  const std::string bytes = p::program(body);
  const Pickle pickle = read_pickle(std::as_bytes(std::span(bytes)), "x.pth");
  std::vector<std::string> result;
  for (const auto& [name, tensor] : find_state_dict(pickle, "x.pth")) result.push_back(name);
  return result;
}

std::string refused(const std::string& body) {
  return refusal(ErrorCode::kCheckpoint, [&] { names(body); });
}

TEST(StateDict, NamesTheTensorsOfADict) {
  EXPECT_THAT(names(p::dict(entry("b", p::tensor()) + entry("a.weight", p::tensor()))),
              ElementsAre("a.weight", "b"));
}

TEST(StateDict, IgnoresWhatIsNoTensor) {
  EXPECT_THAT(names(p::dict(entry("t", p::tensor()) + entry("epoch", "K\x05") + entry("n", "N") +
                            entry("note", p::text("x")) + entry("list", "](" + p::tensor() + "e") +
                            "K\x01" + p::tensor() + "N" + p::tensor())),
              ElementsAre("t"));
}

TEST(StateDict, UnwrapsOneKnownName) {
  const std::string weights = p::dict(entry("w", p::tensor()));
  for (const char* name : {"vae", "state_dict", "model_state_dict", "model", "module", "params",
                           "ema", "ema_state_dict", "params_ema"}) {
    EXPECT_THAT(
        names(p::dict(entry("optimizer", p::dict(entry("m", p::tensor()))) + entry(name, weights))),
        ElementsAre("w"))
        << name;
  }
}

TEST(StateDict, PrefersTheFirstWrapperThatHoldsTensors) {
  const std::string body = p::dict(entry("ema", p::dict(entry("e", p::tensor()))) +
                                   entry("model", p::dict(entry("m", p::tensor()))) +
                                   entry("state_dict", p::dict(entry("epoch", "K\x01"))));
  EXPECT_THAT(names(body), ElementsAre("m"));
}

TEST(StateDict, UnwrapsOneLevelOnly) {
  const std::string body =
      p::dict(entry("state_dict", p::dict(entry("model", p::dict(entry("w", p::tensor()))))));
  EXPECT_THAT(names(body), ElementsAre("model.w"));
}

TEST(StateDict, FlattensOtherDicts) {
  const std::string body =
      p::dict(entry("encoder", p::dict(entry("conv1", p::dict(entry("weight", p::tensor()))))) +
              entry("decoder", p::dict(entry("w", p::tensor()))));
  EXPECT_THAT(names(body), ElementsAre("decoder.w", "encoder.conv1.weight"));
}

TEST(StateDict, RefusesPicklesWithoutTensors) {
  EXPECT_THAT(refused(p::dict("")), HasSubstr("no tensors"));
  EXPECT_THAT(refused(p::tensor()), HasSubstr("no dictionary"));
  EXPECT_THAT(refused("](" + p::tensor() + "e"), HasSubstr("no dictionary"));
}

TEST(StateDict, RefusesNamesThatStandTwice) {
  EXPECT_THAT(refused(p::dict(entry("a", p::tensor()) + entry("a", p::tensor()))),
              HasSubstr("a stands twice"));
  refused(p::dict(entry("a.b", p::tensor()) + entry("a", p::dict(entry("b", p::tensor())))));
}

TEST(StateDict, RefusesADictInsideItself) {
  EXPECT_THAT(refused("}q\x01" + p::text("self") + "h\x01s"), HasSubstr("deeper than 64"));
}

TEST(StateDict, RefusesATreeOfSharedDicts) {
  // Each level holds the one below twice: 2^50 paths through 50 small dicts.
  std::string levels;
  for (int level = 0; level < 50; ++level) {
    const std::string below = level == 0 ? "N" : "h\x01";
    levels += "}(" + p::text("l") + below + p::text("r") + below + "uq\x01";
  }
  const std::string body = p::dict(entry("levels", "](" + levels + "e") + entry("top", "h\x01"));
  EXPECT_THAT(refused(body), HasSubstr("more than 1000000 entries"));
}

TEST(StateDict, RefusesEndlessNames) {
  std::string inner = p::tensor();
  for (int i = 0; i < 50; ++i) inner = p::dict(entry(std::string(100, 'n'), inner));
  EXPECT_THAT(refused(inner), HasSubstr("longer than 4096"));
}

}  // namespace
}  // namespace zoetrope
