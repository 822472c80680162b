// SPDX-License-Identifier: Apache-2.0
// Modules give what checkpoints give, and fit where they say they do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "cpu/cpu_target.h"
#include "runtime/backends.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"
#include "tests/support/golden.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr VideoFormat kFloats = {
    .layout = Layout::kCTHW, .range = Range::kSigned, .dtype = DType::kFloat32};
constexpr const char* kWeights = "random:8:2";

// Latents of a small video, and that video decoded again; what is not loaded stays zero.
std::vector<float> results(const Autoencoder& model) {
  Array video = GoldenFile("tiny/case_t9_32x48").load("video");
  Array latent = Array::zeros({16, 3, 4, 6});
  Array decoded = Array::zeros({3, 9, 32, 48});
  if (model.info().encoder_base_dim != 0) {
    model.encode(video.view(), {.latent = latent.view()}, {.video = kFloats});
  }
  if (model.info().decoder_base_dim != 0) {
    model.decode(latent.view(), decoded.view(), {.video = kFloats});
  }
  latent.values.insert(latent.values.end(), decoded.values.begin(), decoded.values.end());
  return latent.values;
}

void expect_same(const Autoencoder& found, const Autoencoder& expected) {
  EXPECT_EQ(results(found), results(expected));
  const ModelInfo& a = found.info();
  const ModelInfo& b = expected.info();
  EXPECT_EQ(a.family, b.family);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.encoder_base_dim, b.encoder_base_dim);
  EXPECT_EQ(a.decoder_base_dim, b.decoder_base_dim);
  EXPECT_EQ(a.latents_mean, b.latents_mean);
  EXPECT_EQ(a.latents_std, b.latents_std);
  EXPECT_EQ(a.weights_checksum, b.weights_checksum);
  EXPECT_TRUE(a.encoder_base_dim == 0 || a.encode_dtype == b.encode_dtype);
  EXPECT_TRUE(a.decoder_base_dim == 0 || a.decode_dtype == b.decode_dtype);
}

class Module : public ::testing::Test {
 protected:
  std::string write(const LoadOptions& options, const std::string& weights = kWeights) const {
    const std::string path = folder_.path("model.zoe");
    write_module(weights, path, options);
    return path;
  }

  ScratchFolder folder_;
};

// Every kind of CPU that this machine can be, in every type.
TEST_F(Module, GivesTheBitsOfTheCheckpoint) {
  for (const cpu::CpuTarget& target : cpu::cpu_targets()) {
    if (!target.runs_here()) continue;
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      if (!target.has(dtype)) continue;
      const LoadOptions options = {
          .device = "cpu", .target = target.name(), .encode_dtype = dtype, .decode_dtype = dtype};
      SCOPED_TRACE(target.name() + " " + std::string(name_of(dtype)));
      expect_same(Autoencoder::load(write(options)), Autoencoder::load(kWeights, options));
    }
  }
}

TEST_F(Module, GivesTheBitsOfTheCheckpointOnAGpu) {
  if (devices().front().id == "cpu") GTEST_SKIP() << "no GPU here";
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    const LoadOptions options = {.device = "cuda", .encode_dtype = dtype, .decode_dtype = dtype};
    SCOPED_TRACE(name_of(dtype));
    expect_same(Autoencoder::load(write(options)), Autoencoder::load(kWeights, options));
  }
}

TEST_F(Module, KeepsWhatItWasMadeWith) {
  const LoadOptions options = {.device = "cpu",
                               .encode_dtype = DType::kFloat32,
                               .decode_dtype = DType::kFloat32,
                               .disabled_passes = {"fuse-norm", "fold-linear"}};
  const std::string path = write(options);
  expect_same(Autoencoder::load(path), Autoencoder::load(kWeights, options));
  expect_same(Autoencoder::load(path, options), Autoencoder::load(kWeights, options));
  LoadOptions turned = options;  // passes left out are a set
  turned.disabled_passes = {"fold-linear", "fuse-norm"};
  expect_same(Autoencoder::load(path, turned), Autoencoder::load(kWeights, options));
  const std::string bytes = read_file(path);
  EXPECT_EQ(read_file(write(turned)), bytes);
}

TEST_F(Module, KeepsTheLatentStatisticsOfTheCheckpoint) {
  const std::string diffusers = std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/diffusers";
  const LoadOptions options = {.device = "cpu"};
  expect_same(Autoencoder::load(write(options, diffusers)), Autoencoder::load(diffusers, options));
}

TEST_F(Module, LoadsOneHalf) {
  const std::string both = write({.device = "cpu"});
  const LoadOptions encoder = {.device = "cpu", .decoder = false};
  const LoadOptions decoder = {.device = "cpu", .encoder = false};
  expect_same(Autoencoder::load(both, encoder), Autoencoder::load(kWeights, encoder));
  expect_same(Autoencoder::load(both, decoder), Autoencoder::load(kWeights, decoder));
  const std::string half = write(decoder);
  expect_same(Autoencoder::load(half), Autoencoder::load(kWeights, decoder));
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { Autoencoder::load(half, encoder); }),
              HasSubstr("made to decode alone"));
}

TEST_F(Module, IsTheSameBytesForTheSameInput) {
  const std::string first = read_file(write({.device = "cpu"}));
  EXPECT_EQ(read_file(write({.device = "cpu"})), first);
  const std::string published =
      std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/wan_2.1_vae.safetensors";
  EXPECT_EQ(read_file(write({.device = "cpu"}, published)), first);  // the same values
  const SafetensorsFile file(folder_.path("model.zoe"));
  for (const auto& [key, value] : file.metadata()) {
    EXPECT_EQ(value.find("random"), std::string::npos) << key;
    EXPECT_EQ(value.find(folder_.path()), std::string::npos) << key;
  }
}

// On the CPU; `taken` counts the bytes that are allocated.
LoadOptions counting(int64_t& taken) {
  LoadOptions options = {.device = "cpu"};
  options.allocator = {.allocate =
                           [&](size_t bytes, size_t alignment) {
                             taken += static_cast<int64_t>(bytes);
                             return std::aligned_alloc(alignment, bytes);
                           },
                       .deallocate = [](void* data, size_t /*bytes*/) { std::free(data); }};
  return options;
}

// An allocator sees no weights go by: kernels read them in the mapped file.
TEST_F(Module, IsReadInPlaceOnCpus) {
  const std::string path = write({.device = "cpu"});
  int64_t taken = 0;
  const LoadOptions options = counting(taken);
  const Autoencoder model = Autoencoder::load(path, options);
  EXPECT_EQ(taken, 0);
  EXPECT_GT(model.memory_needed_decode({.height = 16, .width = 16}).weights, 1 << 20);
  Autoencoder::load(kWeights, options);
  EXPECT_GT(taken, 1 << 20);
}

// As after a tool that wrote the same tensors with another header.
TEST_F(Module, IsCopiedWhereItIsNotAligned) {
  const std::string path = write({.device = "cpu"});
  std::string bytes = read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  length += 4;
  bytes.insert(sizeof(length) + length - 4, 4, ' ');
  std::memcpy(bytes.data(), &length, sizeof(length));
  int64_t taken = 0;
  const Autoencoder model = Autoencoder::load(folder_.write("odd.zoe", bytes), counting(taken));
  EXPECT_GT(taken, 1 << 20);
  expect_same(model, Autoencoder::load(path));
}

// Any machine packs for any other.
TEST_F(Module, IsMadeForTargetsThatAreNotHere) {
  for (const cpu::CpuTarget& target : cpu::cpu_targets()) {
    const std::string path = write({.target = target.name()});
    const CheckpointDescription description = describe(path);
    EXPECT_EQ(description.module->target, target.name());
    EXPECT_EQ(description.problem.empty(), target.runs_here()) << description.problem;
  }
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument, [&] { write({.target = "cpu-avx9"}); }),
              HasSubstr("cpu-avx2"));
}

TEST_F(Module, OfAGpuNeedsNone) {
  std::string path;
  try {
    path = write({.target = "cuda-sm90"});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(describe(path).module->target, "cuda-sm90");
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { Autoencoder::load(path, {.device = "cpu"}); }),
              HasSubstr("made for cuda-sm90"));
}

TEST_F(Module, RefusesOptionsThatContradictIt) {
  const std::string path = write(
      {.target = "cpu-avx2", .encode_dtype = DType::kFloat32, .decode_dtype = DType::kFloat32});
  const auto refused = [&](const LoadOptions& options) {
    return refusal(ErrorCode::kInvalidArgument, [&] { Autoencoder::load(path, options); });
  };
  EXPECT_THAT(refused({.encode_dtype = DType::kBFloat16}), HasSubstr("--dtype bfloat16"));
  EXPECT_THAT(refused({.decode_dtype = DType::kBFloat16}), HasSubstr("to decode in float32"));
  EXPECT_THAT(refused({.disabled_passes = {"fuse-norm"}}), HasSubstr("fuse-norm"));
  EXPECT_THAT(refused({.threads = 5000}), HasSubstr("threads"));
  EXPECT_THAT(refused({.device = "toaster"}), HasSubstr("toaster"));
  EXPECT_THAT(refused({.target = "cpu-sse4"}), HasSubstr("made for cpu-avx2"));
  EXPECT_THAT(refusal(ErrorCode::kCheckpoint, [&] { Autoencoder::load(path, {.device = "cuda"}); }),
              HasSubstr("made for cpu-avx2"));
  Autoencoder::load(path, {.device = "cpu", .encode_dtype = DType::kFloat32});
}

TEST_F(Module, IsNotCompiledAgain) {
  const std::string path = write({.device = "cpu"});
  EXPECT_THAT(
      refusal(ErrorCode::kUnsupported, [&] { write_module(path, folder_.path("again.zoe")); }),
      HasSubstr("compile the checkpoint that it was made from"));
}

TEST_F(Module, LeavesNothingWhenItFails) {
  LoadOptions options = {.device = "cpu"};
  int polls = 0;
  options.cancelled = [&] { return ++polls > 3; };
  (void)refusal(ErrorCode::kCancelled, [&] { write(options); });
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Module, IsDescribed) {
  const CheckpointDescription description = describe(write({.device = "cpu"}));
  EXPECT_EQ(description.format, "module");
  EXPECT_EQ(description.family, "wan2.1");
  EXPECT_EQ(description.encoder_base_dim, 8);
  EXPECT_EQ(description.decoder_base_dim, 8);
  EXPECT_EQ(description.latent_channels, 16);
  EXPECT_EQ(description.parameters, describe(kWeights).parameters);
  EXPECT_THAT(description.problem, IsEmpty());
  EXPECT_EQ(description.module->target, cpu::CpuTarget().name());
  EXPECT_EQ(description.module->weights_checksum,
            Autoencoder::load(kWeights, {.device = "cpu"}).info().weights_checksum);
  EXPECT_EQ(description.module->plans.size(), 4U);
}

}  // namespace
}  // namespace zoetrope::testing
