// SPDX-License-Identifier: Apache-2.0
// Causal 3-D convs over NDHWC as implicit GEMM: pixels x channels, summed over taps and input
// channels in one fixed order, so a pixel's bits depend on its inputs alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"

namespace zoetrope::cpu {

struct Conv3dArgs {
  const float* x = nullptr;        // (frames, height, width, c_in)
  const float* history = nullptr;  // (kernel_time - stride_time, height, width, c_in); may be null
                                   // if first_tap leaves it unread
  int64_t frames = 0;              // a multiple of stride_time
  int64_t height = 0;
  int64_t width = 0;
  int64_t c_in = 0;

  // Taps, strides and padding mean what graph::ConvShape says.
  int64_t kernel_time = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t first_tap = 0;
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  int64_t pad_before = 0;

  const float* weight = nullptr;    // as packed by the kernel's row
  const float* bias = nullptr;      // (c_out), or null
  const float* residual = nullptr;  // like y, added to it; may be y itself; or null

  float* y = nullptr;  // (frames / stride_time, out_height, out_width, c_out)
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t c_out = 0;
};

// One kernel for one instruction set.
struct Conv3dKernel {
  const char* name;  // "conv3d_f32_avx3"
  int64_t target;    // Highway's bit of the instruction set
  // Bytes and content of the packed weight (c_out, c_in, kernel_time, kernel_height, kernel_width).
  int64_t (*packed_bytes)(int64_t c_out, int64_t c_in, int64_t taps);
  void (*pack)(const float* weight, int64_t c_out, int64_t c_in, int64_t taps, std::byte* packed);
  void (*run)(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control);
};

// The kernels that this machine can run, best first. Never empty.
std::span<const Conv3dKernel> conv3d_kernels();

}  // namespace zoetrope::cpu
