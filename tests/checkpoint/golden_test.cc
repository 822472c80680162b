// SPDX-License-Identifier: Apache-2.0
// The files in tests/data/golden, made by the published model's own tools, and the rule for random
// values that made their content.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"

namespace zoetrope {
namespace {

const std::string kGolden = ZOETROPE_TEST_DATA "/golden/";
constexpr uint64_t kTinySeed = 2;

// Equality of bits: no zero of another sign, no NaN that compares unequal to itself.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// What the rule gives for the tensors of `checkpoint`.
std::shared_ptr<const Checkpoint> ruled(const Checkpoint& checkpoint) {
  return random_checkpoint(checkpoint.tensors(), kTinySeed, "random:8:2");
}

class GoldenInputs : public testing::TestWithParam<std::string> {};

TEST_P(GoldenInputs, FollowTheRule) {
  const SafetensorsFile file(kGolden + GetParam() + ".safetensors");
  const uint64_t seed = std::stoull(file.metadata().at("input_seed"));
  const auto check = [&](const std::string& name, const std::string& rule, float scale) {
    const std::span<const std::byte> bytes = file.bytes(file.tensors().at(name));
    const RandomSequence sequence(rule, seed);
    const auto count = static_cast<int64_t>(bytes.size() / sizeof(float));
    for (int64_t i = 0; i < count; ++i) {
      const float expected = scale * sequence.at(static_cast<uint64_t>(i));
      const float found = load_as_float(bytes.data(), DType::kFloat32, i);
      ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected)) << name << i;
    }
  };
  check("video", "input.video", 1.0F);
  check("z", "input.latent", 1.7F);
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenInputs,
                         testing::Values("wan21_d32_t13_72x40", "wan21_d96_t1_40x56",
                                         "wan21_d96_t9_32x48", "wan21_d96_t5_16x16_stages",
                                         "tiny/case_t9_32x48"));

TEST(Golden, SafetensorsHoldsTheRulesWeights) {
  const auto file = open_checkpoint(kGolden + "tiny/wan_2.1_vae.safetensors");
  EXPECT_EQ(file->format(), "safetensors");
  ASSERT_EQ(file->tensors().size(), 194U);
  const auto rule = ruled(*file);
  for (const TensorInfo& tensor : file->tensors()) {
    ASSERT_TRUE(same_bits(file->read(tensor.name), rule->read(tensor.name))) << tensor.name;
  }
  EXPECT_EQ(checksum_of(file->hashes()), checksum_of(rule->hashes()));
}

TEST(Golden, TorchHoldsTheRulesWeights) {
  const auto file = open_checkpoint(kGolden + "tiny/Wan2.1_VAE.pth");
  EXPECT_EQ(file->format(), "torch");
  ASSERT_EQ(file->tensors().size(), 194U);
  const auto rule = ruled(*file);
  for (const TensorInfo& tensor : file->tensors()) {
    ASSERT_TRUE(same_bits(file->read(tensor.name), rule->read(tensor.name))) << tensor.name;
  }
  EXPECT_EQ(checksum_of(file->hashes()), checksum_of(rule->hashes()));
}

TEST(Golden, BFloat16FileHoldsTheRulesWeightsRounded) {
  const auto file = open_checkpoint(kGolden + "tiny/wan_2.1_vae_bf16.safetensors");
  ASSERT_EQ(file->tensors().size(), 194U);
  const auto rule = ruled(*file);
  for (const TensorInfo& tensor : file->tensors()) {
    EXPECT_EQ(tensor.dtype, DType::kBFloat16);
    std::vector<float> expected = rule->read(tensor.name);
    for (float& value : expected) value = bfloat16_to_float(float_to_bfloat16(value));
    ASSERT_TRUE(same_bits(file->read(tensor.name), expected)) << tensor.name;
  }
  EXPECT_NE(checksum_of(file->hashes()), checksum_of(rule->hashes()));
}

// The values of all tensors, without their names.
std::vector<std::vector<float>> sorted_values(const Checkpoint& checkpoint) {
  std::vector<std::vector<float>> values;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    values.push_back(checkpoint.read(tensor.name));
  }
  std::ranges::sort(values);
  return values;
}

TEST(Golden, DiffusersFolderHoldsTheSameValuesUnderOtherNames) {
  const auto folder = open_checkpoint(kGolden + "tiny/diffusers");
  EXPECT_EQ(folder->format(), "diffusers");
  EXPECT_TRUE(folder->config().find("AutoencoderKLWan") != std::string::npos);
  const auto published = open_checkpoint(kGolden + "tiny/wan_2.1_vae.safetensors");
  EXPECT_NE(folder->tensors()[0].name, published->tensors()[0].name);
  EXPECT_TRUE(sorted_values(*folder) == sorted_values(*published));
}

}  // namespace
}  // namespace zoetrope
