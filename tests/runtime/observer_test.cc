// SPDX-License-Identifier: Apache-2.0
// What is told of the work: step by step, and of the model as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

constexpr int64_t kHeight = 16;
constexpr int64_t kWidth = 24;

struct Seen {
  std::string entry;
  std::string name;
  std::string op;
  ValueShape x;
  ValueShape y;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
  int64_t memory = 0;
  std::map<std::string, std::vector<float>> results = {};
};

bool is_copy(const Seen& seen) { return seen.op.starts_with("copy_"); }

std::map<std::string, std::vector<float>> read_results(const StepEvent& event) {
  std::map<std::string, std::vector<float>> values;
  for (const StepResult& result : event.results) {
    const ValueShape& shape = result.shape;
    std::vector<float>& read = values[std::string(result.name)];
    read.resize(static_cast<size_t>(shape.frames * shape.height * shape.width * shape.channels));
    result.read(read.data());
  }
  return values;
}

// Two latents, decoded; what the observer saw, and the frames.
struct Decoded {
  std::vector<Seen> seen;
  std::vector<float> video = std::vector<float>(5 * kHeight * kWidth * 3);
};

StreamOptions options() {
  StreamOptions options;
  options.height = kHeight;
  options.width = kWidth;
  options.video = {Layout::kTHWC, Range::kSigned, DType::kFloat32};
  options.clamp = false;
  return options;
}

Autoencoder load(const std::vector<std::string>& disabled = {}, DType dtype = DType::kFloat32) {
  LoadOptions options;
  options.device = "cpu";
  options.decode_dtype = dtype;
  options.encoder = false;
  options.disabled_passes = disabled;
  return Autoencoder::load("random:8:5", options);
}

Decoded decode(const Autoencoder& model, bool observed) {
  Decoded decoded;
  StreamOptions stream = options();
  if (observed) {
    stream.observer = [&](const StepEvent& event) {
      decoded.seen.push_back({.entry = std::string(event.entry),
                              .name = std::string(event.name),
                              .op = std::string(event.op),
                              .x = event.x,
                              .y = event.y,
                              .flops = event.flops,
                              .bytes = event.bytes,
                              .seconds = event.seconds,
                              .memory = event.memory,
                              .results = read_results(event)});
    };
  }
  std::vector<float> latents(16 * 2 * (kHeight / 8) * (kWidth / 8), 0.5F);
  TensorView from;
  from.data = latents.data();
  from.shape = {16, 2, kHeight / 8, kWidth / 8};
  TensorView to;
  to.data = decoded.video.data();
  to.shape = {5, kHeight, kWidth, 3};
  model.decode(from, to, stream);
  return decoded;
}

TEST(Observer, SeesEachStepWithItsShapeAndWork) {
  const Decoded decoded = decode(load(), true);
  std::map<std::string, int> entries;
  for (const Seen& step : decoded.seen) {
    ++entries[step.entry];
    EXPECT_GE(step.seconds, 0);
    EXPECT_GT(step.bytes, 0);
    EXPECT_EQ(step.flops > 0, step.op == "conv" || step.op == "attention") << step.op;
    for (const ValueShape& shape : {step.x, step.y}) {
      EXPECT_GT(shape.frames * shape.height * shape.width * shape.channels, 0) << step.op;
    }
  }
  EXPECT_EQ(entries.size(), 2U);
  EXPECT_GT(entries["decode.first"], 0);
  EXPECT_GT(entries["decode.next"], entries["decode.first"]) << "it has time convs";
  ASSERT_FALSE(decoded.seen.empty());
  EXPECT_EQ(decoded.seen.front().x.channels, 16);
}

TEST(Observer, SeesTheCopiesAroundEachEntry) {
  const Decoded decoded = decode(load(), true);
  const std::vector<Seen>& seen = decoded.seen;
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front().op, "copy_in");
  EXPECT_EQ(seen.back().op, "copy_out");
  EXPECT_EQ(std::ranges::count_if(seen, is_copy), 4);
  EXPECT_EQ(seen.front().name, "latent");
  EXPECT_EQ(seen.back().name, "decoder.head.2");
  EXPECT_EQ(seen.back().bytes, 4 * kHeight * kWidth * 3 * 4) << "four frames of float32";
}

TEST(Observer, ReadsWhatTheCallerGets) {
  const Decoded decoded = decode(load(), true);
  std::vector<float> video;
  for (const Seen& step : decoded.seen) {
    const auto found = step.results.find("decoder.head.2");
    if (found != step.results.end()) {
      video.insert(video.end(), found->second.begin(), found->second.end());
    }
  }
  EXPECT_TRUE(video == decoded.video);
}

TEST(Observer, ReadsTheInputAsTheModelSeesIt) {
  const Autoencoder model = load();
  const Decoded decoded = decode(model, true);
  const std::vector<float>& latent = decoded.seen.front().results.at("latent");
  ASSERT_EQ(latent.size(), 16U * (kHeight / 8) * (kWidth / 8));
  for (size_t channel = 0; channel < 16; ++channel) {
    const ModelInfo& info = model.info();
    EXPECT_FLOAT_EQ(latent[channel], 0.5F * info.latents_std[channel] + info.latents_mean[channel]);
  }
}

// What Plans of other passes or types have in common is compared by name.
TEST(Observer, NamesValuesAlikeInEveryPlan) {
  std::map<std::string, std::vector<float>> reference;
  const std::vector<std::string> all = {"fold-linear",   "fold-upsample", "fuse-interleave",
                                        "fuse-residual", "fuse-shortcut", "fuse-silu",
                                        "fuse-norm"};
  for (const Seen& step : decode(load(all), true).seen) {
    for (const auto& [name, values] : step.results) reference[step.entry + name] = values;
  }
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kFloat32, 1e-5F}, {DType::kBFloat16, 0.1F}}) {
    int compared = 0;
    for (const Seen& step : decode(load({}, dtype), true).seen) {
      for (const auto& [name, values] : step.results) {
        SCOPED_TRACE(step.entry + " " + name);
        const std::vector<float>& expected = reference.at(step.entry + name);
        ASSERT_EQ(values.size(), expected.size());
        float largest = 0;
        float error = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          largest = std::max(largest, std::abs(expected[i]));
          error = std::max(error, std::abs(values[i] - expected[i]));
        }
        EXPECT_LE(error, tolerance * largest);
        ++compared;
      }
    }
    EXPECT_GT(compared, 80);
  }
}

TEST(Observer, SaysHowMuchValuesHold) {
  const Autoencoder model = load();
  const MemoryNeeded needed = model.memory_needed_decode(options());
  int64_t most = 0;
  for (const Seen& step : decode(model, true).seen) {
    EXPECT_GT(step.memory, 0) << step.op;
    most = std::max(most, step.memory);
  }
  EXPECT_LE(most, needed.arena);
  EXPECT_GE(most, needed.arena / 2) << "the layout wastes less than half";
}

TEST(Observer, ChangesNoResult) {
  const Autoencoder model = load();
  EXPECT_TRUE(decode(model, true).video == decode(model, false).video);
}

TEST(Observer, ErrorsEndThePush) {
  const Autoencoder model = load();
  StreamOptions stream = options();
  stream.observer = [](const StepEvent& event) {
    if (event.op == "attention") throw Error(ErrorCode::kCancelled, "enough");
  };
  std::vector<float> values(kHeight * kWidth * 3);
  TensorView latent;
  latent.data = values.data();
  latent.shape = {16, 1, kHeight / 8, kWidth / 8};
  TensorView frame;
  frame.data = values.data();
  frame.shape = {1, kHeight, kWidth, 3};
  EXPECT_THROW(model.decode(latent, frame, stream), Error);
}

// Without the passes that save arithmetic, a step after the first does what the model defines.
TEST(Arithmetic, IsWhatStepsDoWhenNothingIsSaved) {
  const Autoencoder model = load({"fold-linear", "fold-upsample"});
  double next = 0;
  double first = 0;
  for (const Seen& step : decode(model, true).seen) {
    (step.entry == "decode.next" ? next : first) += step.flops;
  }
  const double one = model.arithmetic_decode(options(), 1);
  const double five = model.arithmetic_decode(options(), 5);
  EXPECT_DOUBLE_EQ(five - one, next);
  EXPECT_LT(first, one) << "taps on the empty history are left out";
  EXPECT_DOUBLE_EQ(model.arithmetic_decode(options(), 17), one + 4 * (five - one));
  EXPECT_EQ(model.arithmetic_decode(options(), 0), 0);
  EXPECT_EQ(model.arithmetic_encode(options(), 5), 0) << "no encoder is loaded";
}

// Multiplications and additions that the published model takes, in TFLOP.
TEST(Arithmetic, OfThePublishedModelIsKnown) {
  LoadOptions load_options;
  const Autoencoder model = Autoencoder::load("random:96", load_options);
  StreamOptions size = options();
  size.height = size.width = 256;
  EXPECT_NEAR(model.arithmetic_encode(size, 17) / 1e12, 5.7, 0.05);
  EXPECT_NEAR(model.arithmetic_decode(size, 17) / 1e12, 9.6, 0.05);
  size.height = size.width = 512;
  EXPECT_NEAR(model.arithmetic_encode(size, 81) / 1e12, 107.2, 0.05);
  EXPECT_NEAR(model.arithmetic_decode(size, 81) / 1e12, 180.5, 0.05);
}

TEST(Arithmetic, RefusesSizesThatTheModelDoesNotTake) {
  StreamOptions size = options();
  size.width = 25;
  EXPECT_THROW(load().arithmetic_decode(size, 5), Error);
}

TEST(Peaks, ArePositiveForEachType) {
  LoadOptions one_thread;
  one_thread.threads = 1;
  EXPECT_GT(measure_peak_flops(one_thread, DType::kFloat32), 0);
  EXPECT_GT(measure_peak_flops(one_thread, DType::kBFloat16), 0);
  EXPECT_GT(measure_copy_bandwidth(one_thread), 0);
  LoadOptions nowhere;
  nowhere.device = "toaster";
  EXPECT_THROW(measure_peak_flops(nowhere, DType::kFloat32), Error);
}

}  // namespace
}  // namespace zoetrope::testing
