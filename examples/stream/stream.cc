// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes a clip frame by frame, as a program would that makes or shows video live.
//
//   stream WEIGHTS        e.g. stream wan_2.1_vae.safetensors, or stream random:8
#include <zoetrope/zoetrope.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int64_t kHeight = 64;
constexpr int64_t kWidth = 96;
constexpr int64_t kFrames = 9;  // 4 k + 1

// A bright disc that moves to the right, [1, H, W, 3] uint8.
std::vector<uint8_t> draw_frame(int64_t t) {
  std::vector<uint8_t> frame(kHeight * kWidth * 3);
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      const auto dx = static_cast<double>(x - 20 - 6 * t);
      const auto dy = static_cast<double>(y - kHeight / 2);
      const bool inside = std::hypot(dx, dy) < 14;
      uint8_t* pixel = &frame[static_cast<size_t>((y * kWidth + x) * 3)];
      pixel[0] = inside ? 240 : 30;
      pixel[1] = inside ? 200 : static_cast<uint8_t>(40 + y);
      pixel[2] = 90;
    }
  }
  return frame;
}

zoetrope::TensorView frames_view(std::vector<uint8_t>& frames, int64_t count) {
  return {.data = frames.data(),
          .dtype = zoetrope::DType::kUInt8,
          .shape = {count, kHeight, kWidth, 3}};
}

void run(const char* weights) {
  const auto model = zoetrope::Autoencoder::load(weights);
  const zoetrope::ModelInfo& info = model.info();
  const zoetrope::StreamOptions options = {.height = kHeight, .width = kWidth};
  std::printf("%s on %s, %.0f MiB to encode\n", info.family.c_str(), info.device.c_str(),
              static_cast<double>(model.memory_needed_encode(options).total()) / (1 << 20));

  zoetrope::EncodeStream encoder = model.open_encode(options);
  zoetrope::DecodeStream decoder = model.open_decode(options);
  const int64_t h = kHeight / info.spatial_stride;
  const int64_t w = kWidth / info.spatial_stride;
  std::vector<float> latent(static_cast<size_t>(info.latent_channels * h * w));
  int64_t shown = 0;
  for (int64_t t = 0; t < kFrames; ++t) {
    std::vector<uint8_t> frame = draw_frame(t);
    const int64_t latents = encoder.ready(1);  // 1 for frames 0, 4, 8, ...: else 0
    const zoetrope::TensorView latent_view = {.data = latent.data(),
                                              .shape = {info.latent_channels, latents, h, w}};
    encoder.push(frames_view(frame, 1),
                 {.latent = latents > 0 ? latent_view : zoetrope::TensorView{}});
    if (latents == 0) continue;
    const int64_t ready = decoder.ready(latents);
    std::vector<uint8_t> decoded(static_cast<size_t>(ready * kHeight * kWidth * 3));
    decoder.push(latent_view, frames_view(decoded, ready));
    shown += ready;
    std::printf("frame %lld in, %lld frames out\n", static_cast<long long>(t),
                static_cast<long long>(shown));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: stream WEIGHTS\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const zoetrope::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
