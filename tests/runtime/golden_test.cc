// SPDX-License-Identifier: Apache-2.0
// The whole model against the published code's float64 results.
#include <gtest/gtest.h>

#include <map>

#include "compiler/pipeline.h"
#include "cpu/cpu_backend.h"
#include "cpu/cpu_target.h"
#include "models/wan21.h"
#include "runtime/program.h"
#include "tests/support/golden.h"
#include "tests/support/plan_runner.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

struct GoldenCase {
  std::string file;
  std::string weights;
};

std::string tiny(const std::string& name) {
  return std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/" + name;
}

const std::vector<GoldenCase>& golden_cases() {
  static const std::vector<GoldenCase> cases = {
      {"wan21_d96_t1_40x56", "random"},
      {"wan21_d96_t5_16x16_stages", "random:96:0"},
      {"wan21_d96_t9_32x48", "random:96"},
      {"wan21_d32_t13_72x40", "random:32:1"},
      {"tiny/case_t9_32x48", "random:8:2"},
      {"tiny/case_t9_32x48", tiny("wan_2.1_vae.safetensors")},
      {"tiny/case_t9_32x48", tiny("Wan2.1_VAE.pth")},
      {"tiny/case_t9_32x48", tiny("diffusers")},
  };
  return cases;
}

constexpr VideoFormat kFloatVideo = {
    .layout = Layout::kCTHW, .range = Range::kSigned, .dtype = DType::kFloat32};

// mean, logvar and latent of the file's video.
std::map<std::string, Array> encode(const GoldenFile& golden, const std::string& weights,
                                    DType dtype) {
  const auto model = Autoencoder::load(weights, {.encode_dtype = dtype, .decoder = false});
  Array video = golden.load("video");
  std::map<std::string, Array> found;
  for (const char* name : {"mean", "logvar", "latent"}) {
    found[name] = Array::zeros(golden.load(name).shape);
  }
  model.encode(video.view(),
               {.latent = found["latent"].view(),
                .mean = found["mean"].view(),
                .logvar = found["logvar"].view()},
               {.video = kFloatVideo});
  return found;
}

Array decode(const GoldenFile& golden, const std::string& weights, DType dtype) {
  const auto model = Autoencoder::load(weights, {.decode_dtype = dtype, .encoder = false});
  Array latent = golden.load("z");
  Array decoded = Array::zeros(golden.load("decoded").shape);
  model.decode(latent.view(), decoded.view(), {.video = kFloatVideo, .clamp = false});
  return decoded;
}

class Golden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, EncodesAsPublished) {
  const GoldenFile golden(GetParam().file);
  auto found = encode(golden, GetParam().weights, DType::kFloat32);
  for (auto& [name, array] : found) {
    EXPECT_LT(relative_error(array.values, golden.load(name).values), kFloat32Tolerance) << name;
  }
}

TEST_P(Golden, DecodesAsPublished) {
  const GoldenFile golden(GetParam().file);
  const Array decoded = decode(golden, GetParam().weights, DType::kFloat32);
  EXPECT_LT(relative_error(decoded.values, golden.load("decoded").values), kFloat32Tolerance);
}

// Twice the error of naive bfloat16 at most, on processors that multiply it.
TEST_P(Golden, HoldsInBFloat16) {
  if (!cpu::CpuTarget().has(DType::kBFloat16)) GTEST_SKIP() << "no bfloat16 here";
  const GoldenFile golden(GetParam().file);
  auto found = encode(golden, GetParam().weights, DType::kBFloat16);
  found["decoded"] = decode(golden, GetParam().weights, DType::kBFloat16);
  for (auto& [name, array] : found) {
    EXPECT_LT(rms_error(array.values, golden.load(name).values),
              2 * naive_rms(GetParam().file, name))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return "Case" + std::to_string(test.index); });

// Every value whose layer the golden file holds, in sequence order.
class Stages {
 public:
  void add(const std::string& name, const Array& value) {
    Array& sequence = values_[name];
    if (sequence.shape.empty()) {
      sequence = value;
      return;
    }
    sequence.shape[0] += value.shape[0];
    sequence.values.insert(sequence.values.end(), value.values.begin(), value.values.end());
  }

  // A block's output is the last value that the block makes.
  const Array* find(const std::string& layer) const {
    const auto exact = values_.find(layer);
    if (exact != values_.end()) return &exact->second;
    for (const char* last : {".time_conv", ".resample.1"}) {
      const auto found = values_.find(layer + last);
      const bool decoder_time = layer.starts_with("decoder") && last == std::string(".time_conv");
      if (found != values_.end() && !decoder_time) return &found->second;
    }
    return nullptr;
  }

 private:
  std::map<std::string, Array> values_;
};

class GoldenStages : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  void run(models::Entry first, models::Entry next, const Array& input, int64_t per_latent) {
    const auto backend = cpu::open_cpu_backend(2, {});
    const auto checkpoint = random_checkpoint(models::wan21_tensors(96), 0, "random:96:0");
    ConstantStore store(*backend, packing_for(backend->target(), "random"));
    PlannedCodec planned =
        plan_codec(*models::recognise(checkpoint), {first, next, DType::kFloat32},
                   backend->target(), GetParam());
    const Codec codec = with_constants(std::move(planned), store, {});
    PlanRunner runner(*backend, 16, 16);
    const auto look = [&](const std::string& name, const Array& value) {
      // Frame 0 passes through the encoder's time convs, which `first` therefore does not have.
      stages_.add(name, value);
      if (codec.first.plan.entry == "encode.first" && name.ends_with("resample.1") &&
          value.shape[0] == 1 && !name.starts_with("encoder.downsamples.2.")) {
        stages_.add(name.substr(0, name.size() - 10) + "time_conv", value);
      }
    };
    runner.run(codec.first, 1, frames_of(input, 0, 1), look);
    runner.run(codec.next, 1, frames_of(input, 1, per_latent), look);
  }

  void compare(const std::string& half, int expected_stages) {
    const GoldenFile golden("wan21_d96_t5_16x16_stages");
    int compared = 0;
    for (const std::string& name : golden.names()) {
      if (!name.starts_with("stage." + half)) continue;
      const Array* found = stages_.find(name.substr(6));
      if (found == nullptr && fuses()) continue;
      ASSERT_NE(found, nullptr) << name;
      EXPECT_LT(relative_error(found->values, to_ndhwc(golden.load(name)).values),
                kFloat32Tolerance)
          << name;
      ++compared;
    }
    EXPECT_EQ(compared, expected_stages);
  }

  // Passes leave out values that only fused ops would read: the encoder's head before conv1, and
  // the raw blocks before each head.
  bool fuses() const { return GetParam().empty(); }

  Stages stages_;
};

TEST_P(GoldenStages, EncoderBlocksAreAsPublished) {
  const Array video = to_ndhwc(GoldenFile("wan21_d96_t5_16x16_stages").load("video"));
  run(models::Entry::kEncodeFirst, models::Entry::kEncodeNext, video, 4);
  compare("encoder", fuses() ? 14 : 16);
}

TEST_P(GoldenStages, DecoderBlocksAreAsPublished) {
  const GoldenFile golden("wan21_d96_t5_16x16_stages");
  Array latent = to_ndhwc(golden.load("z"));
  const ModelInfo info = Autoencoder::load("random:8").info();
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const size_t c = i % info.latents_std.size();
    latent.values[i] = latent.values[i] * info.latents_std[c] + info.latents_mean[c];
  }
  run(models::Entry::kDecodeFirst, models::Entry::kDecodeNext, latent, 1);
  compare("decoder", fuses() ? 19 : 20);
}

std::vector<std::string> every_pass() {
  std::vector<std::string> names;
  for (const compiler::Pass& pass : compiler::passes()) names.emplace_back(pass.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, GoldenStages,
                         ::testing::Values(std::vector<std::string>{}, every_pass()),
                         [](const auto& test) { return test.index == 0 ? "On" : "Off"; });

// Every instruction set of this machine, each with every pass on and each pass off by itself.
TEST(InstructionSets, GiveThePublishedLatentsWithoutAnyPass) {
  const GoldenFile golden("tiny/case_t9_32x48");
  const Array video = to_ndhwc(golden.load("video"));
  const Array mean = to_ndhwc(golden.load("mean"));
  const auto checkpoint = random_checkpoint(models::wan21_tensors(8), 2, "random:8:2");
  std::vector<std::string> switches = every_pass();
  switches.emplace_back();
  for (const int64_t instruction_set : cpu::instruction_sets()) {
    for (const std::string& off : switches) {
      const auto backend = cpu::open_cpu_backend(2, {}, cpu::CpuTarget(instruction_set));
      ConstantStore store(*backend, packing_for(backend->target(), "random"));
      std::vector<std::string> disabled;
      if (!off.empty()) disabled = {off};
      const CodecEntries entries = {models::Entry::kEncodeFirst, models::Entry::kEncodeNext,
                                    DType::kFloat32};
      const Codec codec = with_constants(
          plan_codec(*models::recognise(checkpoint), entries, backend->target(), disabled), store,
          {});
      PlanRunner runner(*backend, 32, 48);
      runner.run(codec.first, 1, frames_of(video, 0, 1));
      const Array posterior = runner.run(codec.next, 2, frames_of(video, 1, 8));
      Array found = Array::zeros({2, 4, 6, 16});
      for (size_t i = 0; i < found.values.size(); ++i) {
        found.values[i] = posterior.values[i / 16 * 32 + i % 16];
      }
      EXPECT_LT(relative_error(found.values, frames_of(mean, 1, 2).values), kFloat32Tolerance)
          << backend->target().name() << " without " << off;
    }
  }
}

// A checkpoint rounded to bf16 must give what its rounded values give, not what they came from.
TEST(Golden, ReadsRoundedWeightsAsTheyAre) {
  const GoldenFile golden("tiny/case_t9_32x48");
  const Array decoded = decode(golden, tiny("wan_2.1_vae_bf16.safetensors"), DType::kFloat32);
  const double error = relative_error(decoded.values, golden.load("decoded").values);
  EXPECT_LT(error, 0.0260);  // naive.json: bf16 weights and activations
  EXPECT_GT(error, kFloat32Tolerance);
}

}  // namespace
}  // namespace zoetrope::testing
