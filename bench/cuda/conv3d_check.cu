// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/cuda/conv3d_check.h"

namespace zoetrope::bench {
namespace {

using cuda::Conv3dArgs;
using cuda::Conv3dStore;

constexpr int kThreads = 256;

__device__ uint64_t mix(uint64_t v) {
  v += 0x9e3779b97f4a7c15ull;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

// Roughly normal: the sum of four uniform values.
__device__ float normal(uint64_t seed, int64_t i) {
  const uint64_t bits = mix(seed * 0x100000001b3ull + static_cast<uint64_t>(i));
  float sum = 0;
  for (int part = 0; part < 4; ++part) {
    sum += static_cast<float>(bits >> (16 * part) & 0xffff) / 65536.0f - 0.5f;
  }
  return sum * 1.7320508f;
}

__host__ __device__ double value_at(const void* data, DType type, int64_t i) {
  if (type == DType::kFloat16) return __half2float(static_cast<const __half*>(data)[i]);
  if (type == DType::kBFloat16) {
    return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  }
  return static_cast<const float*>(data)[i];
}

__host__ __device__ double rounded(float value, DType type) {
  if (type == DType::kFloat16) return __half2float(__float2half_rn(value));
  return __bfloat162float(__float2bfloat16_rn(value));
}

__global__ void random_kernel(void* data, DType type, int64_t count, float scale, uint64_t seed) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const float v = normal(seed, i) * scale;
    if (type == DType::kFloat32) static_cast<float*>(data)[i] = v;
    if (type == DType::kFloat16) static_cast<__half*>(data)[i] = __float2half_rn(v);
    if (type == DType::kBFloat16) static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(v);
  }
}

struct Size {
  int64_t frames, height, width;
};

__host__ __device__ Size size_of_output(const Conv3dArgs& a) {
  const bool phases = a.store == Conv3dStore::kUpsamplePhases;
  const bool interleaved = a.store == Conv3dStore::kFrameInterleave;
  return {a.frames / a.stride_time * (interleaved ? 2 : 1),
          a.height / a.stride_space * (phases ? 2 : 1),
          a.width / a.stride_space * (phases ? 2 : 1)};
}

// Straight from the definition.
__host__ __device__ double plain_value(const PlainConv& conv, int64_t t, int64_t y, int64_t x,
                                       int64_t filter) {
  const Conv3dArgs& a = conv.args;
  const Size size = size_of_output(a);
  int64_t part = 0, from_t = t, from_y = y, from_x = x, shift_y = 0, shift_x = 0;
  if (a.store == Conv3dStore::kFrameInterleave) part = t % 2, from_t = t / 2;
  if (a.store == Conv3dStore::kUpsamplePhases) {
    shift_y = y % 2, shift_x = x % 2, part = shift_y * 2 + shift_x, from_y = y / 2, from_x = x / 2;
  }
  const int64_t row = part * a.c_out + filter;
  const int64_t past = a.kernel_time - a.stride_time;
  double sum = 0;
  for (int64_t kt = a.first_tap; kt < a.kernel_time; ++kt) {
    const int64_t ti = from_t * a.stride_time + kt - past;
    const void* source = ti < 0 ? a.history : a.x;
    const int64_t frame = ti < 0 ? ti + past : ti;
    for (int64_t ky = 0; ky < a.kernel_height; ++ky) {
      const int64_t yi = from_y * a.stride_space + ky - a.pad_before + shift_y;
      if (yi < 0 || yi >= a.height) continue;
      for (int64_t kx = 0; kx < a.kernel_width; ++kx) {
        const int64_t xi = from_x * a.stride_space + kx - a.pad_before + shift_x;
        if (xi < 0 || xi >= a.width) continue;
        for (int64_t c = 0; c < a.c_in; ++c) {
          const int64_t pixel = a.pixel_stride == 0 ? a.c_in : a.pixel_stride;
          const int64_t at = ((frame * a.height + yi) * a.width + xi) * pixel + c;
          const int64_t tap = (kt * a.kernel_height + ky) * a.kernel_width + kx;
          const int64_t taps = a.kernel_time * a.kernel_height * a.kernel_width;
          const float weight = conv.weight[(row * a.c_in + c) * taps + tap];
          sum += value_at(source, a.operands, at) * rounded(weight, a.operands);
        }
      }
    }
  }
  const int64_t pixel = (t * size.height + y) * size.width + x;
  if (a.bias != nullptr) {
    sum += a.bias[a.store == Conv3dStore::kFrameInterleave ? row : filter];
  }
  for (int64_t c = 0; a.shortcut != nullptr && c < a.c_shortcut; ++c) {
    sum += value_at(a.shortcut, a.operands, pixel * a.c_shortcut + c) *
           rounded(conv.shortcut_weight[filter * a.c_shortcut + c], a.operands);
  }
  if (a.residual != nullptr) sum += value_at(a.residual, a.residual_type, pixel * a.c_out + filter);
  return sum;
}

__global__ void plain_kernel(PlainConv conv, int64_t count) {
  const Size size = size_of_output(conv.args);
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t filter = i % conv.args.c_out;
  const int64_t pixel = i / conv.args.c_out;
  const int64_t x = pixel % size.width;
  const int64_t y = pixel / size.width % size.height;
  conv.raw[i] = plain_value(conv, pixel / size.width / size.height, y, x, filter);
}

__global__ void plain_norm_kernel(PlainConv conv, int64_t pixels) {
  const int64_t pixel = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int64_t channels = conv.args.c_out;
  const double* raw = conv.raw + pixel * channels;
  double squares = 0;
  for (int64_t c = 0; c < channels; ++c) squares += raw[c] * raw[c];
  const double scale = sqrt(static_cast<double>(channels)) / fmax(sqrt(squares), 1e-12);
  for (int64_t c = 0; c < channels; ++c) {
    const double v = raw[c] * scale * conv.args.gamma[c];
    conv.activated[pixel * channels + c] = conv.args.silu ? v / (1 + exp(-v)) : v;
  }
}

int blocks_for(int64_t count) { return static_cast<int>((count + kThreads - 1) / kThreads); }

}  // namespace

DeviceArray::DeviceArray(int64_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, bytes + kGuard), "cudaMalloc");
  poison();
}

DeviceArray::~DeviceArray() { cudaFree(data_); }

void DeviceArray::poison() { check(cudaMemset(data_, 0xff, bytes_ + kGuard), "cudaMemset"); }

bool DeviceArray::guard_intact() const {
  std::vector<unsigned char> guard(kGuard);
  check(cudaMemcpy(guard.data(), at(bytes_), kGuard, cudaMemcpyDeviceToHost), "guard");
  return std::ranges::all_of(guard, [](unsigned char c) { return c == 0xff; });
}

void DeviceArray::fill_random(DType type, float scale, uint64_t seed) {
  const int64_t element = type == DType::kFloat32 ? 4 : 2;
  random_kernel<<<1024, kThreads>>>(data_, type, bytes_ / element, scale, seed);
  check(cudaGetLastError(), "fill_random");
}

std::vector<std::byte> DeviceArray::download() const {
  std::vector<std::byte> bytes(bytes_);
  check(cudaMemcpy(bytes.data(), data_, bytes_, cudaMemcpyDeviceToHost), "download");
  return bytes;
}

void run_plain(const PlainConv& conv) {
  const int64_t count = out_elements(conv.args);
  plain_kernel<<<blocks_for(count), kThreads>>>(conv, count);
  check(cudaGetLastError(), "plain conv");
  if (conv.activated == nullptr) return;
  const int64_t pixels = count / conv.args.c_out;
  plain_norm_kernel<<<blocks_for(pixels), kThreads>>>(conv, pixels);
  check(cudaGetLastError(), "plain norm");
}

double plain_raw_on_host(const PlainConv& conv, int64_t t, int64_t y, int64_t x, int64_t filter) {
  return plain_value(conv, t, y, x, filter);
}

int64_t out_frames(const Conv3dArgs& args) { return size_of_output(args).frames; }
int64_t out_height(const Conv3dArgs& args) { return size_of_output(args).height; }
int64_t out_width(const Conv3dArgs& args) { return size_of_output(args).width; }
int64_t out_elements(const Conv3dArgs& args) {
  return out_frames(args) * out_height(args) * out_width(args) * args.c_out;
}

Difference compare(const DeviceArray& values, DType type, const double* expected, int64_t count) {
  const std::vector<std::byte> bytes = values.download();
  std::vector<double> reference(count);
  check(cudaMemcpy(reference.data(), expected, count * sizeof(double), cudaMemcpyDeviceToHost),
        "compare");
  double squares = 0, error_squares = 0;
  for (const double r : reference) squares += r * r;
  const double rms = std::sqrt(squares / static_cast<double>(count));
  const double half_ulp = type == DType::kFloat16 ? 1.0 / 2048 : 1.0 / 256;
  Difference difference;
  for (int64_t i = 0; i < count; ++i) {
    const double error = value_at(bytes.data(), type, i) - reference[i];
    const double allowed = half_ulp * 1.01 * std::abs(reference[i]) + 1e-4 * rms;
    const double share = std::abs(error) / allowed;
    if (!(share <= difference.worst)) difference.worst = std::isnan(share) ? INFINITY : share;
    error_squares += error * error;
  }
  difference.relative = std::sqrt(error_squares / squares);
  return difference;
}

}  // namespace zoetrope::bench
