// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/pointwise.h"

#include <algorithm>
#include <initializer_list>

#include "cuda/kernels/grid.cuh"
#include "cuda/kernels/number.cuh"

namespace zoetrope::cuda {
namespace {

constexpr int kWarp = 32;

// A warp for each pixel; squares are added in the order of the lanes' butterfly.
__global__ void rms_norm_kernel(RmsNormArgs args) {
  const auto lane = static_cast<int64_t>(threadIdx.x % kWarp);
  const float root = sqrtf(static_cast<float>(args.channels));
  for (int64_t pixel = grid_first() / kWarp; pixel < args.pixels; pixel += grid_step() / kWarp) {
    const int64_t first = pixel * args.channels;
    float squares = 0.0F;
    for (int64_t c = lane; c < args.channels; c += kWarp) {
      const float value = load_number(args.x.data, args.x.type, first + c);
      squares += value * value;
    }
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      squares += __shfl_xor_sync(0xffffffffU, squares, distance);
    }
    const float scale = root / fmaxf(sqrtf(squares), 1e-12F);
    for (int64_t c = lane; c < args.channels; c += kWarp) {
      const float value = load_number(args.x.data, args.x.type, first + c);
      const float normed = value * scale * args.gamma[c];
      store_number(args.y.data, args.y.type, first + c, args.silu ? silu(normed) : normed);
    }
  }
}

__global__ void silu_kernel(Input x, int64_t count, Output y) {
  for (int64_t i = grid_first(); i < count; i += grid_step()) {
    store_number(y.data, y.type, i, silu(load_number(x.data, x.type, i)));
  }
}

__global__ void add_kernel(Input x, Input residual, int64_t count, Output y) {
  for (int64_t i = grid_first(); i < count; i += grid_step()) {
    const float sum = load_number(x.data, x.type, i) + load_number(residual.data, residual.type, i);
    store_number(y.data, y.type, i, sum);
  }
}

// Copies go in units of a Word; sizes are counted in them.
template <typename Word>
__global__ void upsample_kernel(PixelCopy copy, int64_t words) {
  const int64_t items = copy.frames * 4 * copy.height * copy.width * words;
  for (int64_t i = grid_first(); i < items; i += grid_step()) {
    const int64_t pixel = i / words;
    const int64_t column = pixel % (2 * copy.width) / 2;
    const int64_t line = pixel / (2 * copy.width);  // of all frames
    const int64_t row = line % (2 * copy.height) / 2;
    const int64_t from = (line / (2 * copy.height) * copy.height + row) * copy.width + column;
    static_cast<Word*>(copy.y)[i] = static_cast<const Word*>(copy.x)[from * words + i % words];
  }
}

__global__ void spread_kernel(PixelSpread spread) {
  constexpr int kSpread = 8;
  const auto* before = static_cast<const uint16_t*>(spread.before);
  const auto* x = static_cast<const uint16_t*>(spread.x);
  const int64_t pixels = spread.pixels_before + spread.pixels;
  for (int64_t i = grid_first(); i < pixels; i += grid_step()) {
    const uint16_t* from = i < spread.pixels_before
                               ? before + i * spread.channels
                               : x + (i - spread.pixels_before) * spread.channels;
    union {
      uint16_t channels[kSpread];
      uint4 words;
    } pixel;
#pragma unroll
    for (int c = 0; c < kSpread; ++c) pixel.channels[c] = c < spread.channels ? from[c] : 0;
    static_cast<uint4*>(spread.y)[i] = pixel.words;
  }
}

// Where an element of a window comes from; the next is one channel on.
struct WindowElement {
  int channels, kernel_width;  // of all
  int channel, x, y;           // of this one, in the kernel

  __device__ WindowElement(const PixelWindows& w, int index)
      : channels(static_cast<int>(w.channels)), kernel_width(static_cast<int>(w.kernel_width)) {
    const int tap = index / channels;
    channel = index % channels;
    x = tap % kernel_width;
    y = tap / kernel_width;
  }

  __device__ void advance() {
    if (++channel < channels) return;
    channel = 0;
    if (++x < kernel_width) return;
    x = 0;
    ++y;
  }
};

// Rows of the grid are frames. A thread writes 16 bytes; a frame has fewer than 2^31 of them.
template <typename Word>
__global__ void windows_kernel(PixelWindows w) {
  constexpr int kCount = 16 / sizeof(Word);
  struct alignas(16) Words {
    Word values[kCount];
  };
  const auto pieces = static_cast<uint32_t>(w.window / kCount);
  const auto width = static_cast<uint32_t>(w.width);
  const auto items = static_cast<uint32_t>(w.height) * width * pieces;
  const int64_t plane = w.height * w.width * w.channels;
  for (int64_t t = blockIdx.y; t < w.frames_before + w.frames; t += gridDim.y) {
    const Word* frame = t < w.frames_before
                            ? static_cast<const Word*>(w.before) + t * plane
                            : static_cast<const Word*>(w.x) + (t - w.frames_before) * plane;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items;
         i += gridDim.x * blockDim.x) {
      const uint32_t pixel = i / pieces;
      const int y = static_cast<int>(pixel / width - w.pad_before);
      const int x = static_cast<int>(pixel % width - w.pad_before);
      WindowElement element(w, static_cast<int>(i % pieces) * kCount);
      Words words;
#pragma unroll
      for (int j = 0; j < kCount; ++j, element.advance()) {
        const int from_y = y + element.y;
        const int from_x = x + element.x;
        const bool exists = element.y < w.kernel_height && from_y >= 0 && from_y < w.height &&
                            from_x >= 0 && from_x < w.width;
        words.values[j] =
            exists ? frame[(from_y * w.width + from_x) * element.channels + element.channel]
                   : Word{0};
      }
      static_cast<Words*>(w.y)[t * items + i] = words;
    }
  }
}

template <typename Word>
__global__ void interleave_kernel(PixelCopy copy, int64_t words) {
  const int64_t pixels = copy.height * copy.width;
  const int64_t items = 2 * copy.frames * pixels * words;
  for (int64_t i = grid_first(); i < items; i += grid_step()) {
    const int64_t frame = i / words / pixels;
    const int64_t from = (frame / 2 * pixels + i / words % pixels) * 2 + frame % 2;
    static_cast<Word*>(copy.y)[i] = static_cast<const Word*>(copy.x)[from * words + i % words];
  }
}

// A thread moves one place through all frames, in order: what it overwrites it has read.
template <typename Word>
__global__ void carry_kernel(CarryArgs args, int64_t words) {
  const auto* x = static_cast<const Word*>(args.x);
  auto* history = static_cast<Word*>(args.history);
  for (int64_t i = grid_first(); i < words; i += grid_step()) {
    for (int64_t frame = 0; frame < args.history_frames; ++frame) {
      const int64_t from = frame + args.frames;
      history[frame * words + i] = from < args.history_frames
                                       ? history[from * words + i]
                                       : x[(from - args.history_frames) * words + i];
    }
  }
}

// Calls launch(Word) with the largest type of which `bytes` and all addresses are multiples.
template <typename Launch>
void with_word(int64_t bytes, std::initializer_list<const void*> addresses, const Launch& launch) {
  auto all = static_cast<uintptr_t>(bytes);
  for (const void* address : addresses) all |= reinterpret_cast<uintptr_t>(address);
  if (all % sizeof(uint4) == 0) return launch(uint4{});
  if (all % sizeof(uint32_t) == 0) return launch(uint32_t{});
  if (all % sizeof(uint16_t) == 0) return launch(uint16_t{});
  launch(uint8_t{});
}

}  // namespace

cudaError_t rms_norm(const RmsNormArgs& args, cudaStream_t stream) {
  rms_norm_kernel<<<grid_for(args.pixels * kWarp), kGridThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

cudaError_t silu(const Input& x, int64_t count, const Output& y, cudaStream_t stream) {
  silu_kernel<<<grid_for(count), kGridThreads, 0, stream>>>(x, count, y);
  return cudaGetLastError();
}

cudaError_t add(const Input& x, const Input& residual, int64_t count, const Output& y,
                cudaStream_t stream) {
  add_kernel<<<grid_for(count), kGridThreads, 0, stream>>>(x, residual, count, y);
  return cudaGetLastError();
}

cudaError_t spread_pixels(const PixelSpread& spread, cudaStream_t stream) {
  const int64_t pixels = spread.pixels_before + spread.pixels;
  spread_kernel<<<grid_for(pixels), kGridThreads, 0, stream>>>(spread);
  return cudaGetLastError();
}

cudaError_t gather_windows(const PixelWindows& windows, cudaStream_t stream) {
  constexpr int64_t kMostRows = 65535;
  const int64_t bytes = windows.height * windows.width * windows.window * windows.element_bytes;
  const int64_t frames = windows.frames_before + windows.frames;
  const dim3 grid(grid_for(bytes / 16), static_cast<unsigned>(std::min(frames, kMostRows)));
  if (windows.element_bytes == 4) {
    windows_kernel<uint32_t><<<grid, kGridThreads, 0, stream>>>(windows);
  } else {
    windows_kernel<uint16_t><<<grid, kGridThreads, 0, stream>>>(windows);
  }
  return cudaGetLastError();
}

cudaError_t upsample_nearest(const PixelCopy& copy, cudaStream_t stream) {
  with_word(copy.pixel_bytes, {copy.x, copy.y}, [&](auto word) {
    const auto words = copy.pixel_bytes / static_cast<int64_t>(sizeof(word));
    const unsigned blocks = grid_for(copy.frames * 4 * copy.height * copy.width * words);
    upsample_kernel<decltype(word)><<<blocks, kGridThreads, 0, stream>>>(copy, words);
  });
  return cudaGetLastError();
}

cudaError_t frame_interleave(const PixelCopy& copy, cudaStream_t stream) {
  with_word(copy.pixel_bytes, {copy.x, copy.y}, [&](auto word) {
    const auto words = copy.pixel_bytes / static_cast<int64_t>(sizeof(word));
    const unsigned blocks = grid_for(2 * copy.frames * copy.height * copy.width * words);
    interleave_kernel<decltype(word)><<<blocks, kGridThreads, 0, stream>>>(copy, words);
  });
  return cudaGetLastError();
}

cudaError_t carry(const CarryArgs& args, cudaStream_t stream) {
  with_word(args.frame_bytes, {args.x, args.history}, [&](auto word) {
    const auto words = args.frame_bytes / static_cast<int64_t>(sizeof(word));
    carry_kernel<decltype(word)><<<grid_for(words), kGridThreads, 0, stream>>>(args, words);
  });
  return cudaGetLastError();
}

}  // namespace zoetrope::cuda
