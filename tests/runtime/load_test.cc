// SPDX-License-Identifier: Apache-2.0
// Checkpoints as people have them: names, prefixes, halves, types, and damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/dtype.h"
#include "checkpoint/checkpoint.h"
#include "models/wan21.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/support/golden.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The tiny checkpoint's tensors in memory, free to be renamed, converted and damaged.
class Tensors {
 public:
  Tensors() {
    const auto checkpoint =
        open_checkpoint(std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/wan_2.1_vae.safetensors");
    for (const TensorInfo& info : checkpoint->tensors()) {
      add(info.name, info.shape, checkpoint->read(info.name));
    }
  }

  void add(const std::string& name, std::vector<int64_t> shape, std::vector<float> values) {
    const auto storage = std::make_shared<std::vector<float>>(std::move(values));
    tensors.push_back({.name = name,
                       .tensor = {.data = storage->data(),
                                  .dtype = DType::kFloat32,
                                  .device = {},
                                  .shape = std::move(shape),
                                  .strides = {}},
                       .storage = storage});
  }

  void remove(const std::string& name) {
    std::erase_if(tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
  }

  void keep_only(const std::string& part, const std::string& linear) {
    std::erase_if(tensors, [&](const NamedTensor& tensor) {
      return !tensor.name.starts_with(part) && !tensor.name.starts_with(linear);
    });
  }

  NamedTensor& find(const std::string& name) {
    for (NamedTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error(name);
  }

  std::vector<NamedTensor> tensors;
};

std::vector<float> decode_golden(const Autoencoder& model) {
  Array latent = GoldenFile("tiny/case_t9_32x48").load("z");
  Array decoded = Array::zeros({3, 9, 32, 48});
  model.decode(
      latent.view(), decoded.view(),
      {.video = {.layout = Layout::kCTHW, .range = Range::kSigned, .dtype = DType::kFloat32},
       .clamp = false});
  return decoded.values;
}

std::string load_error(const std::vector<NamedTensor>& tensors, const LoadOptions& options = {}) {
  try {
    Autoencoder::from_tensors(tensors, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCheckpoint);
    return error.what();
  }
  return "no error";
}

// Folded or not, in every part.
TEST(FromTensors, RefusesValuesThatAreNotFinite) {
  for (const char* name : {"encoder.conv1.weight", "encoder.conv1.bias", "conv1.weight",
                           "decoder.head.2.weight", "decoder.middle.1.norm.gamma"}) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Tensors damaged;
      damaged.find(name);
      (*std::static_pointer_cast<std::vector<float>>(damaged.find(name).storage))[3] = bad;
      EXPECT_THAT(load_error(damaged.tensors), HasSubstr("expected finite values")) << name;
    }
  }
  Tensors damaged;
  const auto values =
      std::static_pointer_cast<std::vector<float>>(damaged.find("decoder.conv1.weight").storage);
  values->back() = std::nanf("");
  EXPECT_THAT(load_error(damaged.tensors), HasSubstr("tensor decoder.conv1.weight"));
}

TEST(FromTensors, TakesNamesWithAnyPrefix) {
  const std::vector<float> expected = decode_golden(Autoencoder::from_tensors(Tensors().tensors));
  for (const char* prefix : {"vae.", "first_stage_model.", "model.vae."}) {
    Tensors prefixed;
    for (NamedTensor& tensor : prefixed.tensors) tensor.name = prefix + tensor.name;
    EXPECT_EQ(decode_golden(Autoencoder::from_tensors(prefixed.tensors)), expected) << prefix;
  }
}

TEST(FromTensors, TakesOneHalfAlone) {
  const std::vector<float> expected = decode_golden(Autoencoder::from_tensors(Tensors().tensors));
  Tensors decoder;
  decoder.keep_only("decoder.", "conv2.");
  const Autoencoder decodes = Autoencoder::from_tensors(decoder.tensors);
  EXPECT_EQ(decodes.info().encoder_base_dim, 0);
  EXPECT_EQ(decodes.info().decoder_base_dim, 8);
  EXPECT_EQ(decode_golden(decodes), expected);
  EXPECT_THROW(decodes.open_encode({.height = 16, .width = 16}), Error);
  Tensors encoder;
  encoder.keep_only("encoder.", "conv1.");
  const Autoencoder encodes = Autoencoder::from_tensors(encoder.tensors);
  EXPECT_EQ(encodes.info().encoder_base_dim, 8);
  EXPECT_THROW(encodes.open_decode({.height = 16, .width = 16}), Error);
  EXPECT_THAT(load_error(encoder.tensors, {.encoder = false}), HasSubstr("decoder"));
}

TEST(FromTensors, ReadsOnlyTheHalfThatIsAskedFor) {
  Tensors damaged;
  damaged.remove("encoder.conv1.bias");
  EXPECT_THAT(load_error(damaged.tensors), HasSubstr("encoder.conv1.bias"));
  Autoencoder::from_tensors(damaged.tensors, {.encoder = false});
}

TEST(FromTensors, TakesHalfPrecision) {
  Tensors halves;
  for (NamedTensor& tensor : halves.tensors) {
    const auto& values = *std::static_pointer_cast<std::vector<float>>(tensor.storage);
    const auto storage = std::make_shared<std::vector<uint16_t>>();
    for (const float value : values) storage->push_back(float_to_float16(value));
    tensor.storage = storage;
    tensor.tensor.data = storage->data();
    tensor.tensor.dtype = DType::kFloat16;
  }
  const std::vector<float> found =
      decode_golden(Autoencoder::from_tensors(halves.tensors, {.decode_dtype = DType::kFloat32}));
  const std::vector<float> expected = GoldenFile("tiny/case_t9_32x48").load("decoded").values;
  EXPECT_LT(relative_error(found, expected), 0.00309);  // naive.json: fp16
}

TEST(FromTensors, NamesWhatIsMissingOrOfAnotherShape) {
  for (const char* name : {"decoder.upsamples.4.residual.2.weight", "encoder.middle.1.proj.bias",
                           "conv1.weight", "decoder.upsamples.7.resample.1.weight"}) {
    Tensors tensors;
    tensors.remove(name);
    EXPECT_THAT(load_error(tensors.tensors), HasSubstr(name));
  }
  Tensors reshaped;
  reshaped.find("decoder.middle.0.residual.0.gamma").tensor.shape = {8, 4, 1, 1};
  EXPECT_THAT(load_error(reshaped.tensors),
              HasSubstr("expected shape [32,1,1,1], found [8,4,1,1]"));
  Tensors empty;
  empty.find("encoder.conv1.weight").tensor.shape = {0, 3, 3, 3, 3};
  EXPECT_THAT(load_error(empty.tensors), HasSubstr("encoder.conv1.weight"));
  Tensors block;
  std::erase_if(block.tensors, [](const NamedTensor& tensor) {
    return tensor.name.starts_with("encoder.downsamples.4.");
  });
  EXPECT_THAT(load_error(block.tensors), HasSubstr("encoder.downsamples.4."));
}

TEST(FromTensors, RefusesOtherModels) {
  EXPECT_THAT(load_error({}), HasSubstr("found 0 other tensors"));
  Tensors other;
  other.tensors.clear();
  other.add("model.layers.0.weight", {2}, {1, 2});
  EXPECT_THAT(load_error(other.tensors), HasSubstr("model.layers.0.weight"));
}

TEST(Load, CanBeCancelled) {
  int polls = 0;
  LoadOptions options;
  options.cancelled = [&] { return ++polls > 3; };
  try {
    Autoencoder::load("random:8", options);
    FAIL() << "was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST(Load, ReportsProgressToTheEnd) {
  int64_t calls = 0;
  int64_t last_total = 0;
  LoadOptions options = {.decoder = false};
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, ++calls);
    last_total = total;
  };
  Autoencoder::load("random:8", options);
  EXPECT_EQ(calls, last_total);
}

TEST(Load, RefusesWhatItDoesNotHave) {
  const auto code_of = [](const std::string& weights, const LoadOptions& options) {
    try {
      Autoencoder::load(weights, options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  // In builds without CUDA, and where there are fewer GPUs.
  EXPECT_THAT(code_of("random:8", {.device = "cuda:99"}),
              AnyOf(ErrorCode::kUnsupported, ErrorCode::kDevice));
  EXPECT_EQ(code_of("random:8", {.device = "cuda:x"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:8", {.device = "tpu"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:8", {.device = "cpu", .encode_dtype = DType::kFloat16}),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("random:8", {.threads = -1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:8", {.disabled_passes = {"fold"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:0", {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:8:x", {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("random:", {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("/nonexistent", {}), ErrorCode::kCheckpoint);
}

// The error of describing the tiny diffusers folder with another config.json.
std::string config_problem(const std::string& config) {
  const std::string golden = std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/diffusers/";
  const ScratchFolder folder;
  folder.write("config.json", config);
  std::filesystem::create_symlink(golden + "diffusion_pytorch_model.safetensors",
                                  folder.path("diffusion_pytorch_model.safetensors"));
  return describe(folder.path("")).problem;
}

TEST(Config, IsNotTrusted) {
  EXPECT_EQ(config_problem("{}"), "");
  EXPECT_THAT(config_problem(R"({"latents_mean": 1})"), HasSubstr("found number"));
  EXPECT_THAT(config_problem(R"({"latents_mean": [1, 2]})"), HasSubstr("found 2"));
  EXPECT_THAT(config_problem(R"({"latents_std": [0]})"), HasSubstr("positive numbers"));
  EXPECT_THAT(config_problem(R"({"latents_mean": [1e300]})"), HasSubstr("another number"));
  const std::string nested = std::string(60000, '[') + std::string(60000, ']');
  EXPECT_THAT(config_problem("{\"latents_mean\":" + nested + "}"), HasSubstr("found array"));
}

TEST(Load, LogsWhatItLoadedAndWhatItLeftAlone) {
  Tensors tensors;
  tensors.add("vae.extra", {1}, {0});
  tensors.add("extra", {1}, {0});
  std::vector<std::string> lines;
  LoadOptions options = {.device = "cpu"};
  options.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  Autoencoder::from_tensors(tensors.tensors, options);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("wan2.1"));
  EXPECT_THAT(lines[1], HasSubstr("2 tensors belong to no layer"));
}

TEST(Load, TakesTheTypeThatSuitsTheDevice) {
  const bool multiplies_bf16 = devices().front().dtypes.find("bfloat16") != std::string::npos;
  const ModelInfo info = Autoencoder::load("random:8").info();
  EXPECT_EQ(info.encode_dtype, multiplies_bf16 ? DType::kBFloat16 : DType::kFloat32);
  EXPECT_EQ(info.decode_dtype, info.encode_dtype);
  const LoadOptions float32 = {.decode_dtype = DType::kFloat32};
  EXPECT_EQ(Autoencoder::load("random:8", float32).info().decode_dtype, DType::kFloat32);
}

TEST(Load, RefusesHalfAnAllocator) {
  LoadOptions options;
  options.allocator.allocate = [](size_t, size_t) -> void* { return nullptr; };
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument, [&] { Autoencoder::load("random:8", options); }),
              HasSubstr("set both or neither"));
}

TEST(WeightsChecksum, TellsValuesNotFiles) {
  const std::string folder = std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/";
  const auto checksum = [](const std::string& weights) {
    return Autoencoder::load(weights, {.decoder = false}).info().weights_checksum;
  };
  const std::string expected = checksum(folder + "wan_2.1_vae.safetensors");
  EXPECT_THAT(expected, SizeIs(16));
  EXPECT_EQ(checksum(folder + "Wan2.1_VAE.pth"), expected);
  EXPECT_EQ(checksum("random:8:2"), expected);
  EXPECT_EQ(checksum(folder + "diffusers"), expected);
  EXPECT_NE(checksum(folder + "wan_2.1_vae_bf16.safetensors"), expected);
}

TEST(Describe, TellsWhatACheckpointHolds) {
  const std::string folder = std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/";
  const CheckpointDescription diffusers = describe(folder + "diffusers");
  EXPECT_EQ(diffusers.format, "diffusers");
  EXPECT_EQ(diffusers.naming, "diffusers");
  EXPECT_EQ(diffusers.family, "wan2.1");
  EXPECT_EQ(diffusers.encoder_base_dim, 8);
  EXPECT_EQ(diffusers.decoder_base_dim, 8);
  EXPECT_EQ(diffusers.latent_channels, 16);
  EXPECT_EQ(diffusers.problem, "");
  EXPECT_THAT(diffusers.tensors, SizeIs(194));
  EXPECT_THAT(diffusers.unknown, IsEmpty());
  EXPECT_THAT(diffusers.missing, IsEmpty());
  EXPECT_EQ(describe("random").parameters, 126892531);
}

}  // namespace
}  // namespace zoetrope::testing
