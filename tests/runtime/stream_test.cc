// SPDX-License-Identifier: Apache-2.0
// Results do not depend, to the bit, on how a video is cut, on threads, or on other Streams.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "tests/support/golden.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {
namespace {

constexpr int64_t kHeight = 24;
constexpr int64_t kWidth = 40;
constexpr int64_t kFrame = kHeight * kWidth * 3;
constexpr int64_t kLatentFrame = (kHeight / 8) * (kWidth / 8) * 16;

// Types of operands that this machine has kernels for.
std::vector<DType> types() {
  std::vector<DType> found = {DType::kFloat32};
  if (devices().front().dtypes.find("bfloat16") != std::string::npos) {
    found.push_back(DType::kBFloat16);
  }
  return found;
}

const Autoencoder& model(int threads = 2, DType dtype = types().back()) {
  static std::map<std::pair<int, DType>, Autoencoder> loaded;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find({threads, dtype});
  if (found != loaded.end()) return found->second;
  const LoadOptions options = {.encode_dtype = dtype, .decode_dtype = dtype, .threads = threads};
  return loaded.emplace(std::pair{threads, dtype}, Autoencoder::load("random:8:5", options))
      .first->second;
}

std::vector<uint8_t> random_video(int64_t frames, uint64_t seed) {
  const RandomSequence random("video", seed);
  std::vector<uint8_t> video(static_cast<size_t>(frames * kFrame));
  for (size_t i = 0; i < video.size(); ++i) {
    video[i] = static_cast<uint8_t>((random.at(i) + 1) * 127.5F);
  }
  return video;
}

std::vector<float> random_latents(int64_t frames, uint64_t seed) {
  const RandomSequence random("latents", seed);
  std::vector<float> latents(static_cast<size_t>(frames * kLatentFrame));
  for (size_t i = 0; i < latents.size(); ++i) latents[i] = 1.7F * random.at(i);
  return latents;
}

TensorView video_of(std::vector<uint8_t>& video, int64_t begin, int64_t frames) {
  return {.data = video.data() + begin * kFrame,
          .dtype = DType::kUInt8,
          .device = {},
          .shape = {frames, kHeight, kWidth, 3},
          .strides = {}};
}

// (16, frames, h, w) with frames outermost in memory, so that sequences are easy to cut.
TensorView latents_of(std::vector<float>& latents, int64_t begin, int64_t frames) {
  const int64_t plane = kLatentFrame / 16;
  return {.data = latents.data() + begin * kLatentFrame,
          .dtype = DType::kFloat32,
          .device = {},
          .shape = {16, frames, kHeight / 8, kWidth / 8},
          .strides = {plane, kLatentFrame, kWidth / 8, 1}};
}

StreamOptions options(int64_t frames_per_step = 0) {
  return {.height = kHeight, .width = kWidth, .frames_per_step = frames_per_step};
}

void push(EncodeStream& stream, std::vector<uint8_t>& video, int64_t begin, int64_t count,
          std::vector<float>& latents) {
  const int64_t ready = stream.ready(count);
  const auto done = static_cast<int64_t>(latents.size()) / kLatentFrame;
  latents.resize(latents.size() + static_cast<size_t>(ready * kLatentFrame), NAN);
  EncodeOutputs outputs;
  if (ready > 0) outputs.latent = latents_of(latents, done, ready);
  stream.push(video_of(video, begin, count), outputs);
}

std::vector<float> encode(const Autoencoder& with, std::vector<uint8_t> video,
                          const std::vector<int64_t>& cuts, int64_t frames_per_step) {
  EncodeStream stream = with.open_encode(options(frames_per_step));
  std::vector<float> latents;
  int64_t position = 0;
  for (const int64_t count : cuts) {
    push(stream, video, position, count, latents);
    position += count;
  }
  EXPECT_EQ(stream.finish(), 0);
  return latents;
}

std::vector<uint8_t> decode(const Autoencoder& with, std::vector<float> latents,
                            const std::vector<int64_t>& cuts, int64_t frames_per_step) {
  DecodeStream stream = with.open_decode(options(frames_per_step));
  std::vector<uint8_t> video;
  int64_t position = 0;
  for (const int64_t count : cuts) {
    const int64_t ready = stream.ready(count);
    const auto done = static_cast<int64_t>(video.size()) / kFrame;
    video.resize(video.size() + static_cast<size_t>(ready * kFrame), 77);
    stream.push(latents_of(latents, position, count), video_of(video, done, ready));
    position += count;
  }
  return video;
}

TEST(Cuts, DoNotChangeLatents) {
  const std::vector<uint8_t> video = random_video(13, 1);
  const std::vector<std::vector<int64_t>> cuts = {
      {1, 4, 4, 4}, {2, 3, 5, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {12, 1}, {8, 5}};
  for (const DType dtype : types()) {
    const std::vector<float> whole = encode(model(1, dtype), video, {13}, 1);
    ASSERT_EQ(whole.size(), static_cast<size_t>(4 * kLatentFrame));
    for (const int threads : {1, 2, 5}) {
      for (const int64_t frames_per_step : {1, 2, 3}) {
        for (const auto& cut : cuts) {
          EXPECT_EQ(encode(model(threads, dtype), video, cut, frames_per_step), whole)
              << threads << " threads, " << frames_per_step << " frames per step";
        }
      }
    }
  }
}

TEST(Cuts, DoNotChangeFrames) {
  const std::vector<float> latents = random_latents(4, 1);
  for (const DType dtype : types()) {
    const std::vector<uint8_t> whole = decode(model(1, dtype), latents, {4}, 1);
    ASSERT_EQ(whole.size(), static_cast<size_t>(13 * kFrame));
    for (const int threads : {1, 2, 5}) {
      for (const int64_t frames_per_step : {1, 2, 3}) {
        for (const auto& cut : {std::vector<int64_t>{1, 3}, {1, 1, 1, 1}, {2, 2}, {3, 1}}) {
          EXPECT_EQ(decode(model(threads, dtype), latents, cut, frames_per_step), whole);
        }
      }
    }
  }
}

TEST(Streams, OfOneModelDoNotDisturbEachOther) {
  const std::vector<uint8_t> video = random_video(9, 2);
  const std::vector<float> latents = random_latents(3, 3);
  const std::vector<float> encoded = encode(model(), video, {9}, 1);
  const std::vector<uint8_t> decoded = decode(model(), latents, {3}, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 0) {
        EXPECT_EQ(encode(model(), video, {1, 8}, 2), encoded);
      } else {
        EXPECT_EQ(decode(model(), latents, {1, 2}, 1), decoded);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Streams, TellHowManyFramesTheyComputeTogether) {
  StreamOptions options = {.height = 16, .width = 16};
  EXPECT_GE(model().open_encode(options).frames_per_step(), 1);
  options.frames_per_step = 3;
  EXPECT_EQ(model().open_encode(options).frames_per_step(), 3);
  EXPECT_EQ(model().open_decode(options).frames_per_step(), 3);
}

TEST(Streams, TellTheFirstFrameThatIsNotFinite) {
  std::vector<float> latents = random_latents(4, 9);
  for (size_t i = 0; i < static_cast<size_t>(kLatentFrame); ++i) {
    latents[2 * kLatentFrame + i] = NAN;
  }
  for (const int64_t frames_per_step : {1, 2}) {
    DecodeStream stream = model().open_decode(options(frames_per_step));
    std::vector<uint8_t> video(static_cast<size_t>(13 * kFrame));
    stream.push(latents_of(latents, 0, 2), video_of(video, 0, 5));
    EXPECT_EQ(stream.not_finite().values, 0);
    EXPECT_EQ(stream.not_finite().first_frame, -1);
    stream.push(latents_of(latents, 2, 2), video_of(video, 5, 8));
    EXPECT_EQ(stream.not_finite().values, 8 * kFrame);
    EXPECT_EQ(stream.not_finite().first_frame, 5);
    EXPECT_EQ(stream.clone().not_finite().values, 8 * kFrame);
    stream.finish();
    EXPECT_EQ(stream.not_finite().values, 0);
  }
}

TEST(EncodeStream, TellsTheFirstLatentThatIsNotFinite) {
  std::vector<float> video(static_cast<size_t>(9 * kFrame));
  std::fill(video.begin() + 5 * kFrame, video.end(), NAN);
  StreamOptions options = testing::options();
  options.video = {Layout::kTHWC, Range::kSigned, DType::kFloat32};
  EncodeStream stream = model().open_encode(options);
  std::vector<float> latents(static_cast<size_t>(3 * kLatentFrame));
  EncodeOutputs outputs;
  outputs.latent = latents_of(latents, 0, 3);
  TensorView view;
  view.data = video.data();
  view.shape = {9, kHeight, kWidth, 3};
  stream.push(view, outputs);
  EXPECT_EQ(stream.not_finite().values, kLatentFrame);
  EXPECT_EQ(stream.not_finite().first_frame, 2);
}

TEST(EncodeStream, HoldsBackAtMostThreeFrames) {
  std::vector<uint8_t> video = random_video(8, 4);
  EncodeStream stream = model().open_encode(options());
  EXPECT_EQ(stream.ready(0), 0);
  EXPECT_EQ(stream.ready(1), 1);
  EXPECT_EQ(stream.ready(4), 1);
  EXPECT_EQ(stream.ready(5), 2);
  std::vector<float> latents;
  push(stream, video, 0, 4, latents);
  EXPECT_EQ(stream.ready(1), 1);
  EXPECT_EQ(stream.ready(5), 2);
  push(stream, video, 4, 4, latents);
  EXPECT_EQ(latents.size(), static_cast<size_t>(2 * kLatentFrame));
  EXPECT_EQ(stream.finish(), 3);
  EXPECT_EQ(stream.ready(1), 1);
}

TEST(EncodeStream, StartsAnewAfterFinishAndReset) {
  std::vector<uint8_t> video = random_video(5, 5);
  EncodeStream stream = model().open_encode(options());
  std::vector<float> once;
  push(stream, video, 0, 5, once);
  EXPECT_EQ(stream.finish(), 0);
  std::vector<float> again;
  push(stream, video, 0, 5, again);
  EXPECT_EQ(again, once);
  stream.reset();
  std::vector<float> after_reset;
  push(stream, video, 0, 5, after_reset);
  EXPECT_EQ(after_reset, once);
}

TEST(EncodeStream, GoesOnFromItsCloneAndItsState) {
  std::vector<uint8_t> video = random_video(9, 6);
  const std::vector<float> whole = encode(model(), video, {9}, 1);
  EncodeStream stream = model().open_encode(options());
  std::vector<float> head;
  push(stream, video, 0, 7, head);  // two frames are held back
  EncodeStream copy = stream.clone();
  const std::vector<NamedTensor> state = stream.state();
  EncodeStream restored = model().open_encode(options(2));
  restored.restore(state);
  for (EncodeStream* tail : {&stream, &copy, &restored}) {
    std::vector<float> latents = head;
    push(*tail, video, 7, 2, latents);
    EXPECT_EQ(latents, whole);
  }
}

TEST(DecodeStream, GoesOnFromItsCloneAndItsState) {
  std::vector<float> latents = random_latents(3, 7);
  const std::vector<uint8_t> whole = decode(model(), latents, {3}, 1);
  DecodeStream stream = model().open_decode(options());
  std::vector<uint8_t> head(static_cast<size_t>(kFrame));
  stream.push(latents_of(latents, 0, 1), video_of(head, 0, 1));
  DecodeStream copy = stream.clone();
  DecodeStream restored = model().open_decode(options());
  restored.restore(stream.state());
  for (DecodeStream* tail : {&stream, &copy, &restored}) {
    std::vector<uint8_t> video = head;
    video.resize(whole.size());
    tail->push(latents_of(latents, 1, 2), video_of(video, 1, 8));
    EXPECT_EQ(video, whole);
  }
}

TEST(State, OfAnotherSizeOrWithAHoleIsRefused) {
  EncodeStream stream = model().open_encode(options());
  std::vector<NamedTensor> state = stream.state();
  EncodeStream larger = model().open_encode({.height = kHeight + 8, .width = kWidth});
  EXPECT_THROW(larger.restore(state), Error);
  state.pop_back();
  EXPECT_THROW(stream.restore(state), Error);
  state = stream.state();
  state.erase(state.begin());
  EXPECT_THROW(stream.restore(state), Error);
  state.push_back(state.back());
  EXPECT_THROW(stream.restore(state), Error);
}

TEST(State, WithFramesHeldBackBeforeTheFirstIsRefused) {
  std::vector<uint8_t> video = random_video(3, 11);
  EncodeStream stream = model().open_encode(options());
  std::vector<float> latents;
  push(stream, video, 0, 3, latents);
  std::vector<NamedTensor> state = stream.state();
  for (const NamedTensor& tensor : state) {
    if (tensor.name == "frames_done") *static_cast<int64_t*>(tensor.tensor.data) = 0;
  }
  EXPECT_THROW(stream.restore(state), Error);
}

TEST(Push, ThatIsCancelledNeedsAResetBeforeTheNext) {
  std::vector<uint8_t> video = random_video(5, 8);
  const std::vector<float> whole = encode(model(), video, {5}, 1);
  bool stop = true;
  StreamOptions cancelled = options();
  int polls = 0;
  cancelled.cancelled = [&] { return stop && ++polls > 5; };
  const Autoencoder one_thread =
      Autoencoder::load("random:8:5", {.encode_dtype = types().back(), .threads = 1});
  EncodeStream stream = one_thread.open_encode(cancelled);
  std::vector<float> latents;
  try {
    push(stream, video, 0, 5, latents);
    FAIL() << "the push was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  stop = false;
  latents.clear();
  EXPECT_THROW(push(stream, video, 0, 5, latents), Error);
  stream.reset();
  latents.clear();
  push(stream, video, 0, 5, latents);
  EXPECT_EQ(latents, whole);
}

TEST(Push, ReportsProgressToTheEnd) {
  std::vector<uint8_t> video = random_video(9, 9);
  StreamOptions watched = options();
  std::vector<int64_t> done;
  int64_t last_total = 0;
  watched.progress = [&](int64_t step, int64_t total) {
    done.push_back(step);
    last_total = total;
  };
  EncodeStream stream = model().open_encode(watched);
  std::vector<float> latents;
  push(stream, video, 0, 9, latents);
  std::vector<int64_t> expected(static_cast<size_t>(last_total));
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(done, expected);
}

// What a Stream takes is what memory_needed said, and does not grow with the clip.
TEST(MemoryNeeded, IsWhatIsAllocated) {
  int64_t allocated = 0;
  LoadOptions load = {.device = "cpu", .threads = 1};
  load.allocator.allocate = [&](size_t bytes, size_t alignment) -> void* {
    allocated += static_cast<int64_t>(bytes);
    return std::aligned_alloc(alignment, bytes);
  };
  load.allocator.deallocate = [](void* data, size_t) { std::free(data); };
  const Autoencoder counted = Autoencoder::load("random:8", load);
  const MemoryNeeded needed = counted.memory_needed_encode(options(2));
  EXPECT_GE(allocated, needed.weights);
  EncodeStream stream = counted.open_encode(options(2));
  EXPECT_NEAR(static_cast<double>(allocated), static_cast<double>(needed.total()),
              0.02 * static_cast<double>(needed.total()));
  const int64_t opened = allocated;
  std::vector<uint8_t> video = random_video(17, 10);
  std::vector<float> latents;
  push(stream, video, 0, 17, latents);
  EXPECT_EQ(allocated, opened);
}

TEST(MemoryNeeded, CountsWhatEachThreadTakes) {
  const auto needed_by = [](int threads) {
    const Autoencoder loaded = Autoencoder::load("random:8", {.device = "cpu", .threads = threads});
    return loaded.memory_needed_decode(options());
  };
  const MemoryNeeded one = needed_by(1);
  const MemoryNeeded three = needed_by(3);
  EXPECT_GT(one.scratch, 0);
  EXPECT_EQ(three.scratch, 3 * one.scratch);
  EXPECT_EQ(three.total() - one.total(), 2 * one.scratch);
}

TEST(Unload, KeepsNothingOnTheDeviceAndComesBack) {
  int64_t held = 0;
  LoadOptions load = {.device = "cpu", .threads = 1};
  load.allocator.allocate = [&](size_t bytes, size_t alignment) -> void* {
    held += static_cast<int64_t>(bytes);
    return std::aligned_alloc(alignment, bytes);
  };
  load.allocator.deallocate = [&](void* data, size_t bytes) {
    held -= static_cast<int64_t>(bytes);
    std::free(data);
  };
  const Autoencoder loaded = Autoencoder::load("random:8", load);
  const std::vector<float> latents = random_latents(3, 11);
  const std::vector<uint8_t> expected = decode(loaded, latents, {3}, 1);
  for (int i = 0; i < 2; ++i) {
    loaded.unload();
    EXPECT_EQ(held, 0);
    EXPECT_EQ(decode(loaded, latents, {3}, 1), expected);
  }
  const EncodeStream stream = loaded.open_encode(options());
  EXPECT_THROW(loaded.unload(), Error);
}

TEST(CudaStream, IsRefusedOnTheCpu) {
  StreamOptions asked = options();
  asked.cuda_stream = nullptr;
  EXPECT_THROW((void)Autoencoder::load("random:8", {.device = "cpu"}).open_decode(asked), Error);
}

TEST(MemoryLimit, LowersFramesPerStepAndThenRefuses) {
  const int64_t one = model().memory_needed_decode(options(1)).total();
  const int64_t four = model().memory_needed_decode(options(4)).total();
  ASSERT_LT(one, four);
  StreamOptions limited = options(4);
  limited.memory_limit = one;
  EXPECT_EQ(model().memory_needed_decode(limited).total(), one);
  limited.memory_limit = one - 1;
  try {
    model().open_decode(limited);
    FAIL() << "opened beyond its limit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  }
}

}  // namespace
}  // namespace zoetrope::testing
