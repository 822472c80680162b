// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pickle.h"

#include <gtest/gtest.h>

#include "tests/base/refusal.h"
#include "tests/checkpoint/builders.h"

namespace zoetrope {
namespace {

using testing::HasSubstr;
namespace p = pickle;

Pickle read(const std::string& bytes) {
  return read_pickle(std::as_bytes(std::span(bytes)), "x.pth");
}

// The message that a pickle with this body is refused with.
std::string refused(const std::string& body) {
  return refusal(ErrorCode::kCheckpoint, [&] { read(p::program(body)); });
}

PickleKind kind_of(const std::string& body) {
  const std::string bytes = p::program(body);
  const Pickle result = read(bytes);
  return result.values[result.root].kind;
}

int64_t integer_of(const std::string& body) {
  const std::string bytes = p::program(body);
  const Pickle result = read(bytes);
  EXPECT_EQ(result.values[result.root].kind, PickleKind::kInteger);
  return result.values[result.root].integer;
}

TEST(Pickle, ReadsScalars) {
  EXPECT_EQ(kind_of("N"), PickleKind::kNone);
  EXPECT_EQ(kind_of("\x88"), PickleKind::kBool);
  EXPECT_EQ(kind_of("\x89"), PickleKind::kBool);
  EXPECT_EQ(kind_of("G@@@@@@@@"), PickleKind::kFloat);
  EXPECT_EQ(kind_of(p::text("abc")), PickleKind::kString);
  EXPECT_EQ(kind_of(p::global("torch", "HalfStorage")), PickleKind::kGlobal);
}

TEST(Pickle, ReadsIntegersOfEverySize) {
  EXPECT_EQ(integer_of("K\xff"), 255);
  EXPECT_EQ(integer_of("M\xff\xff"), 65535);
  EXPECT_EQ(integer_of("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(integer_of(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(integer_of("\x8a\x01\xff"), -1);
  EXPECT_EQ(integer_of(std::string("\x8a\x02\xff\x00", 4)), 255);
  EXPECT_EQ(integer_of(std::string("\x8a\x05\x00\x00\x00\x00\x01", 7)), int64_t{1} << 32);
  EXPECT_EQ(integer_of(p::integer(INT64_MIN)), INT64_MIN);
  EXPECT_THAT(refused("\x8a\x09" + std::string(9, '\x01')), HasSubstr("more than 64 bits"));
}

TEST(Pickle, ReadsContainersThroughTheMemo) {
  // {"a": (1, 2), "b": the same tuple, "c": [3, 4]}
  const std::string bytes =
      p::program("}q\x01(" + p::text("a") + p::tuple("K\x01K\x02") + "r\x05\x01\x02\x03" +
                 p::text("b") + "j\x05\x01\x02\x03" + p::text("c") + "](K\x03K\x04" + "eu");
  const Pickle result = read(bytes);
  const PickledValue& dict = result.values[result.root];
  ASSERT_EQ(dict.kind, PickleKind::kDict);
  ASSERT_EQ(dict.items.size(), 6U);
  EXPECT_EQ(result.values[dict.items[0]].text, "a");
  EXPECT_EQ(dict.items[1], dict.items[3]);
  EXPECT_EQ(result.values[dict.items[1]].items.size(), 2U);
  EXPECT_EQ(result.values[dict.items[5]].kind, PickleKind::kList);
}

TEST(Pickle, ReadsTensors) {
  const std::string bytes = p::program(
      p::tensor({.type = "BFloat16Storage", .key = "7", .storage_elements = 40, .offset = 4}));
  const Pickle result = read(bytes);
  ASSERT_EQ(result.tensors.size(), 1U);
  const PickledTensor& tensor = result.tensors[0];
  EXPECT_EQ(tensor.storage, "7");
  EXPECT_EQ(tensor.dtype, DType::kBFloat16);
  EXPECT_EQ(tensor.storage_elements, 40);
  EXPECT_EQ(tensor.offset, 4);
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{3, 1}));
}

TEST(Pickle, ReadsParametersAsTheirTensor) {
  const std::string body =
      p::global("torch._utils", "_rebuild_parameter") +
      p::tuple(p::tensor() + "\x88" + p::global("collections", "OrderedDict") + ")R") + "R";
  EXPECT_EQ(kind_of(body), PickleKind::kTensor);
}

TEST(Pickle, DropsTheAttributesOfAnOrderedDict) {
  const std::string body =
      p::global("collections", "OrderedDict") + ")R" + p::dict(p::text("_metadata") + "N") + "b";
  EXPECT_EQ(kind_of(body), PickleKind::kDict);
  EXPECT_THAT(refused("K\x01" + p::dict("") + "b"), HasSubstr("attributes"));
}

TEST(Pickle, RunsNothing) {
  const std::string call = p::global("os", "system") + p::tuple(p::text("touch /tmp/owned")) + "R";
  EXPECT_THAT(refused(call), HasSubstr("names os.system"));
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"builtins", "eval"},
                                                        {"__builtin__", "getattr"},
                                                        {"torch", "load"},
                                                        {"torch._utils", "_rebuild_tensor"},
                                                        {"collections", "OrderedDict.fromkeys"},
                                                        {"torch.", "FloatStorage"},
                                                        {"", ""}}) {
    EXPECT_THAT(refused(p::global(module, name)), HasSubstr("is not run"));
  }
}

TEST(Pickle, PrintsHostileNamesOnOneLine) {
  EXPECT_THAT(refused(p::global("o\x1b[2J\r", "x\xff")), HasSubstr("\\x1b[2J\\x0d.x\\xff"));
  EXPECT_THAT(refused("c" + std::string(1000, 'a')), HasSubstr("a name without end"));
}

TEST(Pickle, RefusesEveryOtherInstruction) {
  const std::string known = "().GJKMNQRX]abcehjqrstu}\x80\x85\x86\x87\x88\x89\x8a";
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (known.find(static_cast<char>(opcode)) != std::string::npos) continue;
    EXPECT_THAT(refused(std::string("NN") + static_cast<char>(opcode) + std::string(20, 'N')),
                HasSubstr("is not run"))
        << opcode;
  }
  EXPECT_THAT(refused("\x80\x02N"), HasSubstr("0x80"));  // a protocol only at the start
}

TEST(Pickle, RefusesOtherProtocols) {
  refusal(ErrorCode::kCheckpoint, [] { read(""); });
  refusal(ErrorCode::kCheckpoint, [] { read("}."); });
  const auto newer = [] { read("\x80\x04}."); };
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, newer), HasSubstr("pickle protocol 4; expected 2"));
}

TEST(Pickle, RefusesStackUnderflow) {
  for (const char* body :
       {"",     "R", "NR",      "Q",   "b",     "Nb",    "a",      "Na",    "s",
        "NNs",  "t", "u",       "e",   "\x85",  "N\x86", "NN\x87", "q\x01", "r\x01\x01\x01\x01",
        "}N(u", "(", "N(N\x86", "N(s", "}NN(a", "(N",    "NN",     "](a"}) {
    refused(body);
  }
}

TEST(Pickle, RefusesItemsForWhatTakesNone) {
  for (const char* body : {"](NNu", "}(Ne", "}Na", "]NNs", "N(NNu", ")(NNu", "}(Nu"}) {
    refused(body);
  }
}

TEST(Pickle, RefusesUnknownMemoEntries) {
  EXPECT_THAT(refused("h\x01"), HasSubstr("memo"));
  EXPECT_THAT(refused("Nq\x01j\x01\x01\x01\x01"), HasSubstr("memo"));
}

TEST(Pickle, RefusesAMemoBomb) {
  // A few bytes that name a huge index cost nothing; a million entries are too many.
  EXPECT_EQ(kind_of("Nr\xff\xff\xff\xff"), PickleKind::kNone);
  std::string body = "N";
  for (uint32_t i = 0; i <= 1'000'000; ++i) body.append("r").append(little(i * 4001, 4));
  EXPECT_THAT(refused(body), HasSubstr("memo"));
}

TEST(Pickle, RefusesDepthBombs) {
  EXPECT_THAT(refused(")" + std::string(1000, '\x85')), HasSubstr("deeper than 64"));
  EXPECT_THAT(refused(std::string(1000, '(')), HasSubstr("deeper than 64"));
  std::string dicts;
  for (int i = 0; i < 1000; ++i) dicts.append("}").append(p::text("k"));
  dicts.append("N").append(1000, 's');
  EXPECT_THAT(refused(dicts), HasSubstr("deeper than 64"));
  EXPECT_EQ(kind_of(")" + std::string(63, '\x85')), PickleKind::kTuple);
}

TEST(Pickle, RefusesTooManyValues) {
  EXPECT_THAT(refused(std::string(5'000'000, 'N')), HasSubstr("too many values"));
  std::string copies = "Nq\x01";
  for (int i = 0; i < 5'000'000; ++i) copies += "h\x01";
  EXPECT_THAT(refused(copies), HasSubstr("too many values"));
}

TEST(Pickle, AcceptsADictThatHoldsItself) {
  EXPECT_EQ(kind_of("}q\x01" + p::text("self") + "h\x01s"), PickleKind::kDict);
}

TEST(Pickle, RefusesEveryPrefix) {
  const std::string whole = p::program(p::dict(p::text("t") + p::tensor()));
  read(whole);
  for (size_t size = 0; size < whole.size(); ++size) {
    refusal(ErrorCode::kCheckpoint, [&] { read(whole.substr(0, size)); });
  }
}

TEST(Pickle, RefusesStringsThatAreTooLongOrNotUtf8) {
  EXPECT_THAT(refused("X\xff\xff\xff\xff" + std::string("abc")), HasSubstr("ends too early"));
  EXPECT_THAT(refused(p::text("\xff")), HasSubstr("UTF-8"));
}

TEST(Pickle, RefusesNegativeNumbersInTensors) {
  EXPECT_THAT(refused(p::tensor({.offset = -1})), HasSubstr("a tensor without"));
  EXPECT_THAT(refused(p::tensor({.shape = {2, -3}})), HasSubstr("negative"));
  EXPECT_THAT(refused(p::tensor({.strides = {-3, 1}})), HasSubstr("negative"));
  EXPECT_THAT(refused(p::tensor({.storage_elements = -6})), HasSubstr("not a storage"));
}

TEST(Pickle, RefusesTensorsOfAnotherForm) {
  EXPECT_THAT(refused(p::tensor({.strides = {1}})), HasSubstr("too few strides"));
  EXPECT_THAT(refused(p::tensor({.shape = std::vector<int64_t>(9, 1)})), HasSubstr("at most 8"));
  const std::string rebuild = p::global("torch._utils", "_rebuild_tensor_v2");
  refused(rebuild + ")R");
  refused(rebuild + "NR");
  refused(rebuild + p::tuple(std::string("N").append(p::integer(0)).append("))")) + "R");
  refused(rebuild + p::tuple(p::storage({}) + p::integer(0) + "]]") + "R");
  refused(rebuild + p::tuple(p::storage({}) + p::integer(0) + p::tuple("\x88") + p::tuple("\x88")) +
          "R");
  refused(p::global("torch._utils", "_rebuild_parameter") + "N\x85R");
  refused(p::global("torch._utils", "_rebuild_parameter") + ")R");
  refused(p::global("torch", "FloatStorage") + ")R");
  refused(p::global("collections", "OrderedDict") + "N\x85R");
  refused("N)R");
  refused(p::text("os") + ")R");
}

TEST(Pickle, RefusesStoragesOfAnotherForm) {
  const std::string type = p::global("torch", "FloatStorage");
  refused("NQ");
  refused(")Q");
  refused(p::tuple(p::text("module") + type + p::text("0") + p::text("cpu") + p::integer(6)) + "Q");
  refused(p::tuple(p::text("storage") + p::global("collections", "OrderedDict") + p::text("0") +
                   p::text("cpu") + p::integer(6)) +
          "Q");
  refused(p::tuple(p::text("storage") + type + "N" + p::text("cpu") + p::integer(6)) + "Q");
  refused(p::tuple(p::text("storage") + type + p::text("0") + p::text("cpu") + "N") + "Q");
}

}  // namespace
}  // namespace zoetrope
