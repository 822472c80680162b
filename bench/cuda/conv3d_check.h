// SPDX-License-Identifier: Apache-2.0
// What conv3d kernels are checked and measured with: device arrays of random values, and a plain
// conv in double that knows nothing of tiles.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/kernels/conv3d_sm90.h"

namespace zoetrope::bench {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Device memory, with kGuard bytes after it that must keep their poison.
class DeviceArray {
 public:
  static constexpr int64_t kGuard = 1 << 16;
  explicit DeviceArray(int64_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void* data() const { return data_; }
  std::byte* at(int64_t byte) const { return static_cast<std::byte*>(data_) + byte; }
  int64_t bytes() const { return bytes_; }
  void poison();  // every byte 0xff: NaN in every floating type
  bool guard_intact() const;
  void fill_random(DType type, float scale, uint64_t seed);
  std::vector<std::byte> download() const;

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Results of `args` in double. Weights are as published: (filters, c_in, taps...), and
// (c_out, c_shortcut); rounded to args.operands.
struct PlainConv {
  cuda::Conv3dArgs args;
  const float* weight;
  const float* shortcut_weight;
  double* raw;
  double* activated;  // or null
};
void run_plain(const PlainConv& conv);

// The same for one output value, on the host; `args` points to host memory.
double plain_raw_on_host(const PlainConv& conv, int64_t t, int64_t y, int64_t x, int64_t filter);

int64_t out_frames(const cuda::Conv3dArgs& args);
int64_t out_height(const cuda::Conv3dArgs& args);
int64_t out_width(const cuda::Conv3dArgs& args);
int64_t out_elements(const cuda::Conv3dArgs& args);

struct Difference {
  double relative = 0;  // |a - b| / |b|, Euclidean
  double worst = 0;     // largest share of what rounding to the type and 1e-4 of the rms allow
  bool ok() const { return worst <= 1.0; }
};
Difference compare(const DeviceArray& values, DType type, const double* expected, int64_t count);

}  // namespace zoetrope::bench
