// SPDX-License-Identifier: Apache-2.0
// For torch_host.py: Zoetrope in a process of PyTorch's, on its tensors, stream and memory.
#include <memory>
#include <string>

#include "zoetrope/zoetrope.h"

namespace {

std::string last_error;

struct Decoder {
  zoetrope::Autoencoder model;
  zoetrope::DecodeStream stream;
};

}  // namespace

#define TORCH_HOST_API extern "C" __attribute__((visibility("default")))

TORCH_HOST_API const char* error_text() { return last_error.c_str(); }

// Null if that fails.
TORCH_HOST_API void* open_decoder(int64_t height, int64_t width, void* cuda_stream) try {
  auto model = zoetrope::Autoencoder::load("random", {.device = "cuda", .encoder = false});
  const zoetrope::StreamOptions options = {
      .height = height, .width = width, .cuda_stream = cuda_stream};
  zoetrope::DecodeStream stream = model.open_decode(options);
  return new Decoder{std::move(model), std::move(stream)};
} catch (const zoetrope::Error& error) {
  last_error = error.what();
  return nullptr;
}

TORCH_HOST_API int64_t frames_per_step(void* decoder) {
  return static_cast<Decoder*>(decoder)->stream.frames_per_step();
}

// Both on the device: float32 [16, n, height / 8, width / 8] to uint8 [4 n - 3, height, width, 3].
TORCH_HOST_API bool decode(void* decoder, void* latents, int64_t n, void* video, int64_t height,
                           int64_t width) try {
  const zoetrope::Device device = {.kind = zoetrope::DeviceKind::kCuda};
  zoetrope::DecodeStream& stream = static_cast<Decoder*>(decoder)->stream;
  stream.reset();
  stream.push({.data = latents, .device = device, .shape = {16, n, height / 8, width / 8}},
              {.data = video,
               .dtype = zoetrope::DType::kUInt8,
               .device = device,
               .shape = {4 * n - 3, height, width, 3}});
  return true;
} catch (const zoetrope::Error& error) {
  last_error = error.what();
  return false;
}

TORCH_HOST_API void close_decoder(void* decoder) { delete static_cast<Decoder*>(decoder); }
