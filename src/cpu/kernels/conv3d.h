// SPDX-License-Identifier: Apache-2.0
// Causal 3-D convs over NDHWC as implicit GEMM: pixels x channels, summed over taps and input
// channels in one fixed order, so a pixel's bits depend on its inputs alone. What follows a conv
// (residual, norm, SiLU) happens while its sums are in cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::cpu {

// What graph::StoreMap says.
enum class Conv3dStore : uint8_t { kPlain, kFrameInterleave, kUpsamplePhases };

// "Operands" are of the kernel's type: float32 or bfloat16. Sums are float32 in both.
struct Conv3dArgs {
  const void* x = nullptr;        // (frames, height, width, c_in), operands
  const void* history = nullptr;  // (kernel_time - stride_time, height, width, c_in), operands; may
                                  // be null if first_tap leaves it unread
  int64_t frames = 0;             // a multiple of stride_time
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

  const void* weight = nullptr;  // as packed by the kernel's row
  const float* bias = nullptr;   // one for each filter, or null

  // One pixel of `shortcut` for each output pixel, times its own 1x1x1 weight: the last terms of
  // the sum. Null: none. Only with kPlain.
  const void* shortcut = nullptr;  // (out_frames, out_height, out_width, c_shortcut), operands
  const void* shortcut_weight = nullptr;  // packed like `weight`, with one tap
  int64_t c_shortcut = 0;

  // Like the output, operands, added to it; may be the same memory as y or activated. Or null.
  const void* residual = nullptr;

  // The sum before rounding, over its norm: raw / max(|raw|, 1e-12) * sqrt(c_out) * gamma, then
  // SiLU if `silu`.
  const float* gamma = nullptr;  // (c_out)
  bool silu = false;

  // Output (out_frames, out_height, out_width, c_out), at least one of the two. kPlain: out_frames
  // = frames / stride_time and the weight has c_out filters. kFrameInterleave: twice as many
  // frames, and 2 c_out filters. kUpsamplePhases: twice x's height and width, and 4 c_out filters,
  // but c_out biases.
  Conv3dStore store = Conv3dStore::kPlain;
  void* y = nullptr;          // raw: operands, or float32 if y_float32
  void* activated = nullptr;  // operands
  bool y_float32 = false;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t c_out = 0;

  float* scratch = nullptr;  // Conv3dKernel::scratch_floats for each thread, aligned to a line
};

// How a processor multiplies bfloat16.
enum class Bf16Products : uint8_t {
  kNone,      // it does not
  kExpanded,  // sooner as float32, to which operands are expanded
  kPairs,     // by AVX-512 BF16
};

// One kernel for one instruction set.
struct Conv3dKernel {
  const char* name;    // "conv3d_f32_avx3", "conv3d_bf16_avx512bf16"
  const char* layout;  // of packed weights: rows that share it pack alike
  int64_t target;      // Highway's bit of the instruction set
  DType operands;
  // Of packed weights: channels of a vector, vectors of a panel, input channels side by side.
  int64_t (*lanes)();
  int64_t panel_vectors;
  int64_t group;
  // Why it cannot run a conv, or empty. Reads the arguments' shape alone: taps, strides, padding,
  // store map, channels, and frames by what divides them.
  std::string (*refusal)(const Conv3dArgs& args);
  // Floats that a thread needs for a conv of these channels, at most, whatever its size: a multiple
  // of a line.
  int64_t (*scratch_floats)(const Conv3dArgs& args);
  void (*run)(const Conv3dArgs& args, ThreadPool& pool, const LoopControl& control);

  // Bytes and content of the packed weight (filters, c_in, kernel_time, kernel_height,
  // kernel_width), taps = the product of the last three. `parts`: filters / parts of them are
  // packed as a weight of their own, one part after another: 4 with kUpsamplePhases, 2 with
  // kFrameInterleave. Any machine can pack for any kernel.
  int64_t packed_bytes(int64_t filters, int64_t c_in, int64_t taps, int64_t parts) const;
  void pack(const float* weight, int64_t filters, int64_t c_in, int64_t taps, int64_t parts,
            std::byte* packed) const;
};

// The kernels that this machine can run, best first; at least one for float32 that runs every conv.
std::span<const Conv3dKernel> conv3d_kernels();

// Those of a processor with `instruction_sets` (Highway's bits) that multiplies bfloat16 so, best
// first: of other machines too, to be asked and packed for.
std::vector<Conv3dKernel> conv3d_kernels(int64_t instruction_sets, Bf16Products bf16);

// Of this machine.
Bf16Products bf16_products();

}  // namespace zoetrope::cpu
