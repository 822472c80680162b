// SPDX-License-Identifier: Apache-2.0
// What is told of the work: step by step, and of the model as a whole.
#include <gtest/gtest.h>

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
  std::string op;
  ValueShape x;
  ValueShape y;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
};

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
  return options;
}

Autoencoder load(const std::vector<std::string>& disabled = {}) {
  LoadOptions options;
  options.decode_dtype = DType::kFloat32;
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
                              .op = std::string(event.op),
                              .x = event.x,
                              .y = event.y,
                              .flops = event.flops,
                              .bytes = event.bytes,
                              .seconds = event.seconds});
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
