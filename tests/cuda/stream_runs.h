// SPDX-License-Identifier: Apache-2.0
// A small model on a GPU, small videos and their latents, and Streams over them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/cuda/device_buffers.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::testing {

inline constexpr int64_t kHeight = 40;
inline constexpr int64_t kWidth = 56;
inline constexpr int64_t kFrame = kHeight * kWidth * 3;
inline constexpr int64_t kLatentFrame = kHeight / 8 * kWidth / 8 * 16;
inline constexpr int64_t kLatents = 9;
inline constexpr int64_t kFrames = 1 + (kLatents - 1) * 4;

// Of 96 channels on Hopper, whose kernels take no fewer.
inline const Autoencoder& model() {
  static const Autoencoder loaded =
      Autoencoder::load(gpu_capability() == 90 ? "random:96:4" : "random:32:4", {.device = "cuda"});
  return loaded;
}

inline StreamOptions options(int64_t frames_per_step = 2) {
  return {.height = kHeight, .width = kWidth, .frames_per_step = frames_per_step};
}

inline TensorView video_view(void* data, int64_t begin, int64_t frames,
                             DeviceKind kind = DeviceKind::kCpu) {
  return {.data = static_cast<std::byte*>(data) + begin * kFrame,
          .dtype = DType::kUInt8,
          .device = {.kind = kind},
          .shape = {frames, kHeight, kWidth, 3}};
}

// (16, frames, h, w) with frames outermost in memory.
inline TensorView latent_view(void* data, int64_t begin, int64_t frames,
                              DeviceKind kind = DeviceKind::kCpu) {
  constexpr int64_t kPlane = kLatentFrame / 16;
  return {.data = static_cast<float*>(data) + begin * kLatentFrame,
          .dtype = DType::kFloat32,
          .device = {.kind = kind},
          .shape = {16, frames, kHeight / 8, kWidth / 8},
          .strides = {kPlane, kLatentFrame, kWidth / 8, 1}};
}

inline std::vector<float> random_latents() {
  std::vector<float> latents(static_cast<size_t>(kLatents * kLatentFrame));
  uint32_t state = 7;
  for (float& value : latents) {
    state = state * 1664525U + 1;
    value = static_cast<float>(state >> 8) * 0x1p-23F - 1;
  }
  return latents;
}

inline std::vector<uint8_t> random_video(int64_t frames) {
  std::vector<uint8_t> video(static_cast<size_t>(frames * kFrame));
  uint32_t state = 1;
  for (uint8_t& value : video) value = static_cast<uint8_t>((state = state * 1664525U + 1) >> 24);
  return video;
}

// Pushes the random latents in the given cuts.
inline std::vector<uint8_t> decode(DecodeStream& stream, const std::vector<int64_t>& cuts) {
  std::vector<float> latents = random_latents();
  std::vector<uint8_t> video(static_cast<size_t>(kFrames * kFrame));
  int64_t at = 0;
  int64_t frame = 0;
  for (const int64_t count : cuts) {
    const int64_t frames = stream.ready(count);
    stream.push(latent_view(latents.data(), at, count), video_view(video.data(), frame, frames));
    at += count;
    frame += frames;
  }
  EXPECT_EQ(frame, kFrames);
  return video;
}

inline std::vector<uint8_t> decode_whole() {
  DecodeStream stream = model().open_decode(options());
  return decode(stream, {kLatents});
}

inline std::vector<float> encode(const Autoencoder& with, const std::vector<uint8_t>& video,
                                 int64_t frames_per_step) {
  const int64_t frames = std::ssize(video) / kFrame;
  const int64_t latents = 1 + (frames - 1) / 4;
  std::vector<float> latent(static_cast<size_t>(latents * kLatentFrame));
  std::vector<uint8_t> copy = video;
  with.encode(video_view(copy.data(), 0, frames),
              {.latent = latent_view(latent.data(), 0, latents)},
              {.frames_per_step = frames_per_step});
  return latent;
}

}  // namespace zoetrope::testing
