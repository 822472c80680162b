// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/checkpoint/builders.h"
#include "zoetrope/tools.h"

namespace zoetrope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kTiny = ZOETROPE_TEST_DATA "/golden/tiny/";
const std::string kPth = kTiny + "Wan2.1_VAE.pth";
const std::string kSafetensors = kTiny + "wan_2.1_vae.safetensors";
const std::string kFolder = kTiny + "diffusers";

// Every tensor of both has the same name, type, shape and bytes.
void expect_same(const std::string& a, const std::string& b) {
  const auto one = open_checkpoint(a);
  const auto two = open_checkpoint(b);
  ASSERT_EQ(one->tensors().size(), two->tensors().size());
  for (const TensorInfo& tensor : one->tensors()) {
    const TensorInfo* other = two->find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(tensor.dtype, other->dtype) << tensor.name;
    EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
    EXPECT_EQ(one->read_stored(tensor.name), two->read_stored(tensor.name)) << tensor.name;
  }
}

TEST(Convert, GoesAroundThroughEveryFormatUnchanged) {
  const ScratchFolder folder;
  const Conversion first = convert(kPth, folder.path("a.gguf"));
  EXPECT_EQ(first.format, "torch");
  EXPECT_EQ(first.tensors, 194);
  EXPECT_EQ(first.renamed, 0);
  EXPECT_THAT(first.unknown, IsEmpty());
  EXPECT_EQ(first.lost, "");
  expect_same(kPth, folder.path("a.gguf"));
  EXPECT_EQ(convert(folder.path("a.gguf"), folder.path("b.irpa")).format, "gguf");
  EXPECT_EQ(convert(folder.path("b.irpa"), folder.path("c.safetensors")).format, "irpa");
  EXPECT_EQ(convert(folder.path("c.safetensors"), folder.path("d/")).renamed, 194);
  convert(folder.path("d"), folder.path("e.safetensors"), {.names = TensorNaming::kPublished});
  expect_same(kPth, folder.path("e.safetensors"));
  EXPECT_EQ(read_file(folder.path("c.safetensors")), read_file(folder.path("e.safetensors")));
}

TEST(Convert, NamesAndDescribesAsDiffusersDoes) {
  const ScratchFolder folder;
  convert(kPth, folder.path("vae/"));
  expect_same(folder.path("vae"), kFolder);
  const auto described = describe(folder.path("vae"));
  EXPECT_EQ(described.problem, "");
  EXPECT_EQ(described.naming, "diffusers");
  const std::string config = read_file(folder.path("vae/config.json"));
  EXPECT_THAT(config, HasSubstr("0.9653"));
  EXPECT_THAT(config, HasSubstr("\"num_res_blocks\": 2"));
  convert(kFolder, folder.path("names.safetensors"), {.names = TensorNaming::kPublished});
  expect_same(folder.path("names.safetensors"), kSafetensors);
  convert(kFolder, folder.path("kept/"));
  EXPECT_EQ(read_file(folder.path("kept/config.json")), read_file(kFolder + "/config.json"));
}

TEST(Convert, RoundsAsTorchDoes) {
  const ScratchFolder folder;
  const Conversion conversion =
      convert(kSafetensors, folder.path("bf16.safetensors"), {.dtype = DType::kBFloat16});
  expect_same(folder.path("bf16.safetensors"), kTiny + "wan_2.1_vae_bf16.safetensors");
  convert(folder.path("bf16.safetensors"), folder.path("f32.irpa"), {.dtype = DType::kFloat32});
  const auto narrow = open_checkpoint(folder.path("bf16.safetensors"));
  const auto wide = open_checkpoint(folder.path("f32.irpa"));
  for (const TensorInfo& tensor : wide->tensors()) {
    EXPECT_EQ(tensor.dtype, DType::kFloat32);
    EXPECT_EQ(wide->read(tensor.name), narrow->read(tensor.name));
  }
  EXPECT_EQ(conversion.bytes, static_cast<int64_t>(2 * describe(kSafetensors).parameters));
}

// A checkpoint of no known model.
std::string other_model(const ScratchFolder& folder, float value) {
  return folder.write(
      "other.safetensors",
      safetensors_bytes(R"({"steps":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                        R"("w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                        little(7, 8) + float_bytes({1, value})));
}

TEST(Convert, TakesOtherModelsAndLeavesIntegersAlone) {
  const ScratchFolder folder;
  const std::string other = other_model(folder, INFINITY);
  const Conversion conversion = convert(other, folder.path("o.gguf"), {.dtype = DType::kFloat16});
  EXPECT_THAT(conversion.unknown, IsEmpty());
  const auto written = open_checkpoint(folder.path("o.gguf"));
  EXPECT_EQ(written->find("steps")->dtype, DType::kInt64);
  EXPECT_EQ(written->read("w"), (std::vector<float>{1, INFINITY}));
  const auto refused = [&](const std::string& output, const ConvertOptions& options) {
    return refusal(ErrorCode::kCheckpoint, [&] { convert(other, folder.path(output), options); });
  };
  EXPECT_THAT(refused("vae/", {}), HasSubstr("expected a Wan2.1 VAE"));
  EXPECT_THAT(refused("n.gguf", {.names = TensorNaming::kDiffusers}),
              HasSubstr("expected a Wan2.1 VAE"));
}

TEST(Convert, RefusesValuesThatBecomeInfinite) {
  const ScratchFolder folder;
  const std::string other = other_model(folder, 65520);
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument,
                      [&] { convert(other, folder.path("o.irpa"), {.dtype = DType::kFloat16}); }),
              HasSubstr("tensor w: element 1 is too large for float16"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("o.irpa")));
  convert(other, folder.path("o.irpa"), {.dtype = DType::kBFloat16});
}

// The tiny checkpoint with one more tensor.
std::string with_stranger(const ScratchFolder& folder, const std::string& prefix,
                          const std::string& stranger) {
  const SafetensorsFile file(kSafetensors);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : file.tensors()) {
    auto* data = const_cast<std::byte*>(file.bytes(entry).data());
    tensors.push_back({prefix + name, {.data = data, .dtype = entry.dtype, .shape = entry.shape}});
  }
  std::vector<float> value = {3};
  tensors.push_back({stranger, {.data = value.data(), .shape = {1}}});
  write_safetensors(folder.path("in.safetensors"), tensors, {});
  return folder.path("in.safetensors");
}

TEST(Convert, KeepsAndNamesTensorsOfNoLayer) {
  const ScratchFolder folder;
  const std::string in = with_stranger(folder, "vae.", "logit_scale");
  const Conversion kept = convert(in, folder.path("kept.irpa"));
  EXPECT_THAT(kept.unknown, ElementsAre("logit_scale"));
  EXPECT_NE(open_checkpoint(folder.path("kept.irpa"))->find("vae.conv1.bias"), nullptr);
  const Conversion named =
      convert(in, folder.path("named.irpa"), {.names = TensorNaming::kPublished});
  EXPECT_EQ(named.renamed, 194);
  const auto written = open_checkpoint(folder.path("named.irpa"));
  EXPECT_NE(written->find("conv1.bias"), nullptr);
  EXPECT_EQ(written->read("logit_scale"), std::vector<float>{3});
}

TEST(Convert, RefusesANameThatTwoTensorsWouldHave) {
  const ScratchFolder folder;
  const std::string in = with_stranger(folder, "vae.", "conv1.bias");
  EXPECT_THAT(
      refusal(ErrorCode::kInvalidArgument,
              [&] { convert(in, folder.path("o.irpa"), {.names = TensorNaming::kPublished}); }),
      HasSubstr("conv1.bias and vae.conv1.bias would both be called conv1.bias"));
}

TEST(Convert, SaysWhichLatentStatisticsStayBehind) {
  const ScratchFolder folder;
  std::string config = read_file(kFolder + "/config.json");
  config.replace(config.find("0.9653"), 6, "0.5000");
  folder.write("in/config.json", config);
  std::filesystem::copy_file(kFolder + "/diffusion_pytorch_model.safetensors",
                             folder.path("in/diffusion_pytorch_model.safetensors"));
  EXPECT_THAT(convert(folder.path("in"), folder.path("o.irpa")).lost, HasSubstr("latents_mean"));
  EXPECT_EQ(convert(folder.path("in"), folder.path("o/")).lost, "");
  config.replace(config.find("0.5000"), 6, "\"x\"");  // of no model that is known
  folder.write("in/config.json", config);
  EXPECT_THAT(convert(folder.path("in"), folder.path("other.irpa")).lost,
              HasSubstr("config.json stays behind"));
}

TEST(Convert, RefusesOptionsThatContradict) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& output, const ConvertOptions& options) {
    return refusal(ErrorCode::kInvalidArgument,
                   [&] { convert(kSafetensors, folder.path(output), options); });
  };
  EXPECT_THAT(refused("o.pth", {}), HasSubstr("named .safetensors, .gguf or .irpa"));
  EXPECT_THAT(refused("o/", {.names = TensorNaming::kPublished}), HasSubstr("diffusers' names"));
  EXPECT_THAT(refused("o.irpa", {.dtype = DType::kInt8}), HasSubstr("expected a floating type"));
  convert(kSafetensors, folder.path("o.pth"), {.format = CheckpointFormat::kGguf});
  EXPECT_EQ(describe(folder.path("o.pth")).format, "gguf");
}

TEST(Convert, ReplacesOnlyWhatItWrites) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& output, const ConvertOptions& options = {}) {
    return refusal(ErrorCode::kIo, [&] { convert(kSafetensors, folder.path(output), options); });
  };
  folder.write("mine/notes.txt", "notes");
  EXPECT_THAT(refused("mine/"), HasSubstr("found notes.txt in it"));
  EXPECT_EQ(read_file(folder.path("mine/notes.txt")), "notes");
  folder.write("other/config.json/notes.txt", "notes");
  EXPECT_THAT(refused("other/"), HasSubstr("found config.json in it"));
  EXPECT_EQ(read_file(folder.path("other/config.json/notes.txt")), "notes");
  EXPECT_THAT(refused("mine", {.format = CheckpointFormat::kIrpa}), HasSubstr("found a folder"));
  EXPECT_THAT(refused("no/such/o.irpa"), HasSubstr("does not exist"));
  convert(kSafetensors, folder.path("vae/"));
  convert(kSafetensors, folder.path("vae/"), {.dtype = DType::kBFloat16});
  EXPECT_EQ(describe(folder.path("vae")).tensors.at(0).dtype, DType::kBFloat16);
}

TEST(Convert, RefusesHalfAModelAsADiffusersFolder) {
  const ScratchFolder folder;
  const SafetensorsFile file(kSafetensors);
  std::vector<NamedTensor> half;
  for (const auto& [name, entry] : file.tensors()) {
    if (!name.starts_with("decoder.") && !name.starts_with("conv2.")) continue;
    auto* data = const_cast<std::byte*>(file.bytes(entry).data());
    half.push_back({name, {.data = data, .dtype = entry.dtype, .shape = entry.shape}});
  }
  write_safetensors(folder.path("half.safetensors"), half, {});
  EXPECT_THAT(refusal(ErrorCode::kUnsupported,
                      [&] { convert(folder.path("half.safetensors"), folder.path("o/")); }),
              HasSubstr("found the decoder alone"));
  half.pop_back();
  write_safetensors(folder.path("half.safetensors"), half, {});
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint,
                      [&] { convert(folder.path("half.safetensors"), folder.path("o/")); }),
              HasSubstr("1 tensors are missing"));
}

TEST(Convert, ReportsProgressAndStopsWhenAsked) {
  const ScratchFolder folder;
  std::vector<int64_t> seen;
  ConvertOptions options;
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 194);
    seen.push_back(done);
  };
  convert(kSafetensors, folder.path("o.irpa"), options);
  EXPECT_EQ(seen.size(), 194U);
  EXPECT_EQ(seen.back(), 194);
  options.cancelled = [&] { return seen.size() > 200; };
  EXPECT_THAT(
      refusal(ErrorCode::kCancelled, [&] { convert(kSafetensors, folder.path("p/"), options); }),
      HasSubstr("was not written"));
  size_t names = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++names;
  }
  EXPECT_EQ(names, 1U);
}

TEST(Convert, CountsValuesThatAreNotFinite) {
  const ScratchFolder folder;
  EXPECT_EQ(convert(kPth, folder.path("a.gguf")).not_finite, 0);
  const Conversion odd = convert(other_model(folder, NAN), folder.path("o.irpa"));
  EXPECT_EQ(odd.not_finite, 1);
  EXPECT_EQ(
      convert(folder.path("o.irpa"), folder.path("o.gguf"), {.dtype = DType::kFloat16}).not_finite,
      1);
}

TEST(Convert, RefusesModules) {
  const ScratchFolder folder;
  write_module("random:1", folder.path("m.zoe"), {.target = "cpu-sse4"});
  EXPECT_THAT(refusal(ErrorCode::kUnsupported,
                      [&] { convert(folder.path("m.zoe"), folder.path("o.irpa")); }),
              HasSubstr("a module, whose weights are packed"));
}

TEST(Convert, WritesMadeUpWeights) {
  const ScratchFolder folder;
  convert("random:8:2", folder.path("o.safetensors"));
  expect_same(folder.path("o.safetensors"), kSafetensors);
}

}  // namespace
}  // namespace zoetrope
