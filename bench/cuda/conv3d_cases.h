// SPDX-License-Identifier: Apache-2.0
// The convs that the Hopper kernels are checked on and timed on.
#pragma once

#include <cstdint>

#include "cuda/kernels/conv3d.h"

namespace zoetrope::bench {

using cuda::Conv3dStore;

// What graph::ConvShape says.
struct Window {
  int64_t kernel_time = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t first_tap = 0;
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  int64_t pad_before = 0;
};

struct Case {
  const char* name;
  int64_t frames;
  int64_t height;
  int64_t width;
  int64_t c_in;
  int64_t c_out;
  Window window = {3, 3, 3, 0, 1, 1, 1};
  DType operands = DType::kFloat16;
  DType raw = DType::kBFloat16;
  bool residual = false;
  bool y = true;
  bool activated = true;
  bool silu = true;
  int64_t c_shortcut = 0;
  Conv3dStore store = Conv3dStore::kPlain;
  int64_t pixel_stride = 0;

  int64_t pixel() const { return pixel_stride == 0 ? c_in : pixel_stride; }
};

inline constexpr Window kTime = {3, 1, 1, 0, 1, 1, 0};
inline constexpr Window kTimeDown = {3, 1, 1, 0, 2, 1, 0};
inline constexpr Window kPoint = {1, 1, 1, 0, 1, 1, 0};
inline constexpr Window kDown = {1, 3, 3, 0, 1, 2, 0};
inline constexpr Window kFlat = {1, 3, 3, 0, 1, 1, 1};
inline constexpr Window kFirst = {3, 3, 3, 2, 1, 1, 1};
inline constexpr Window kPhase = {1, 2, 2, 0, 1, 1, 1};
inline constexpr Window kCube = {3, 3, 3, 0, 1, 1, 1};
inline constexpr DType kF16 = DType::kFloat16;
inline constexpr DType kB16 = DType::kBFloat16;

// clang-format off
// Sizes that no tile divides, and every option.
inline constexpr Case kChecks[] = {
    {"96 32x64", 3, 32, 64, 96, 96},
    {"96 odd 37x45", 4, 37, 45, 96, 96, {3, 3, 3, 0, 1, 1, 1}, DType::kBFloat16, DType::kBFloat16,
     true},
    {"96 1x1", 1, 1, 1, 96, 96},
    {"96 raw fp16, many tiles", 5, 200, 216, 96, 96, {3, 3, 3, 0, 1, 1, 1}, DType::kFloat16,
     DType::kFloat16, true},
    {"192 19x70", 3, 19, 70, 192, 192, {3, 3, 3, 0, 1, 1, 1}, DType::kFloat16, DType::kBFloat16,
     true},
    {"192 bf16 norm alone", 2, 60, 104, 192, 192, {3, 3, 3, 0, 1, 1, 1}, DType::kBFloat16,
     DType::kBFloat16, false, false, true, false},
    {"384 33x31", 3, 33, 31, 384, 384, {3, 3, 3, 0, 1, 1, 1}, DType::kFloat16, DType::kBFloat16,
     true},
    {"384 bf16 many tiles", 9, 64, 64, 384, 384, {3, 3, 3, 0, 1, 1, 1}, DType::kBFloat16,
     DType::kBFloat16, true},
    {"384 raw alone", 2, 30, 52, 384, 384, {3, 3, 3, 0, 1, 1, 1}, DType::kFloat16, DType::kBFloat16,
     false, true, false},
    {"96 first tap", 2, 40, 40, 96, 96, kFirst},
    {"16 to 384", 2, 24, 40, 16, 384},
    {"96 to 192 with shortcut", 2, 40, 48, 192, 192, {3, 3, 3, 0, 1, 1, 1}, DType::kFloat16,
     DType::kBFloat16, false, true, true, true, 96},
    {"96 to 192", 2, 40, 48, 96, 192},
    {.name = "96 to 192 with shortcut 192, residual", .frames = 3, .height = 19, .width = 35,
     .c_in = 96, .c_out = 192, .residual = true, .c_shortcut = 192},
    {.name = "3 to 96", .frames = 3, .height = 40, .width = 56, .c_in = 3, .c_out = 96,
     .pixel_stride = 8},
    {.name = "3 to 96 odd", .frames = 5, .height = 45, .width = 37, .c_in = 3, .c_out = 96,
     .operands = DType::kBFloat16, .pixel_stride = 8},
    {.name = "3 to 96 flat, first", .frames = 1, .height = 64, .width = 64, .c_in = 3, .c_out = 96,
     .window = {1, 3, 3, 0, 1, 1, 1}, .pixel_stride = 16},
    {.name = "96 to 3", .frames = 3, .height = 40, .width = 56, .c_in = 96, .c_out = 3,
     .activated = false},
    {.name = "96 to 3 odd", .frames = 4, .height = 45, .width = 37, .c_in = 96, .c_out = 3,
     .operands = DType::kBFloat16, .raw = DType::kFloat16, .activated = false},
    {.name = "40 to 8 1x1", .frames = 1, .height = 1, .width = 1, .c_in = 40, .c_out = 8,
     .activated = false},
    {"384 with shortcut 192", 2, 40, 24, 384, 384, {3, 3, 3, 0, 1, 1, 1}, DType::kBFloat16,
     DType::kBFloat16, false, true, true, true, 192},
    {"192 to 96 flat", 2, 40, 48, 192, 96, kFlat, DType::kBFloat16},
    {"384 time", 4, 24, 40, 384, 384, kTime, DType::kBFloat16},
    {"384 time down", 4, 24, 40, 384, 384, kTimeDown, DType::kBFloat16},
    {"384 time interleave", 4, 24, 40, 384, 384, kTime, DType::kBFloat16, DType::kBFloat16, false,
     true, true, true, 0, Conv3dStore::kFrameInterleave},
    {"192 to 384 point", 2, 40, 24, 192, 384, kPoint},
    {"96 down", 2, 40, 72, 96, 96, kDown, DType::kBFloat16},
    {"192 down", 2, 36, 40, 192, 192, kDown, DType::kBFloat16},
    {"192 to 96 phases", 2, 20, 36, 192, 96, kPhase, DType::kBFloat16, DType::kBFloat16, false,
     true, true, true, 0, Conv3dStore::kUpsamplePhases},
    {"384 to 192 phases", 2, 20, 36, 384, 192, kPhase, DType::kBFloat16, DType::kBFloat16, false,
     true, true, true, 0, Conv3dStore::kUpsamplePhases},
};

// Activations and results are several times the L2 cache.
inline constexpr Case kTimes[] = {
    {"96 512x512 raw", 8, 512, 512, 96, 96, kCube, kF16, kB16, false, true, false},
    {"96 512x512 norm", 8, 512, 512, 96, 96, kCube, kF16, kB16, false, false, true},
    {"96 512x512 residual,raw,norm", 8, 512, 512, 96, 96, kCube, kF16, kB16, true, true, true},
    {"192 256x256 raw", 8, 256, 256, 192, 192, kCube, kF16, kB16, false, true, false},
    {"192 256x256 norm", 8, 256, 256, 192, 192, kCube, kF16, kB16, false, false, true},
    {"192 256x256 residual,raw,norm", 8, 256, 256, 192, 192, kCube, kF16, kB16, true, true, true},
    {"384 128x128 raw", 16, 128, 128, 384, 384, kCube, kF16, kB16, false, true, false},
    {"384 128x128 norm", 16, 128, 128, 384, 384, kCube, kF16, kB16, false, false, true},
    {"384 128x128 residual,raw,norm", 16, 128, 128, 384, 384, kCube, kF16, kB16, true, true, true},
    {"96 512x512 bfloat16 raw", 8, 512, 512, 96, 96, kCube, kB16, kB16, false, true, false},
    {"192 256x256 bfloat16 raw", 8, 256, 256, 192, 192, kCube, kB16, kB16, false, true, false},
    {"384 128x128 bfloat16 raw", 16, 128, 128, 384, 384, kCube, kB16, kB16, false, true, false},
    {.name = "3 to 96 512x512 raw,norm", .frames = 8, .height = 512, .width = 512, .c_in = 3,
     .c_out = 96, .pixel_stride = 8},
    {.name = "96 to 3 512x512 raw", .frames = 8, .height = 512, .width = 512, .c_in = 96,
     .c_out = 3, .activated = false},
    {"384 64x64 residual,raw,norm", 21, 64, 64, 384, 384, kCube, kF16, kB16, true, true, true},
    {"384 64x64, 1 frame, residual,raw,norm", 1, 64, 64, 384, 384, kCube, kF16, kB16, true, true,
     true},
    {"96 480x832 residual,raw,norm", 8, 480, 832, 96, 96, kCube, kF16, kB16, true, true, true},
    {"192 240x416 residual,raw,norm", 8, 240, 416, 192, 192, kCube, kF16, kB16, true, true, true},
    {"384 120x208 residual,raw,norm", 16, 120, 208, 384, 384, kCube, kF16, kB16, true, true, true},
    {"384 60x104 residual,raw,norm", 21, 60, 104, 384, 384, kCube, kF16, kB16, true, true, true},
    {.name = "96 to 192 256x256 norm", .frames = 8, .height = 256, .width = 256, .c_in = 96,
     .c_out = 192, .y = false},
    {.name = "192 256x256 shortcut 96, raw,norm", .frames = 8, .height = 256, .width = 256,
     .c_in = 192, .c_out = 192, .c_shortcut = 96},
    {.name = "192 to 384 128x128 norm", .frames = 16, .height = 128, .width = 128, .c_in = 192,
     .c_out = 384, .y = false},
    {.name = "192 to 96 upsampled to 512x512", .frames = 8, .height = 256, .width = 256,
     .c_in = 192, .c_out = 96, .window = kPhase, .operands = kB16,
     .store = Conv3dStore::kUpsamplePhases},
    {.name = "384 to 192 upsampled to 256x256", .frames = 16, .height = 128, .width = 128,
     .c_in = 384, .c_out = 192, .window = kPhase, .operands = kB16,
     .store = Conv3dStore::kUpsamplePhases},
    {.name = "96 512x512 down", .frames = 8, .height = 512, .width = 512, .c_in = 96, .c_out = 96,
     .window = kDown, .operands = kB16},
    {.name = "192 256x256 down", .frames = 8, .height = 256, .width = 256, .c_in = 192,
     .c_out = 192, .window = kDown, .operands = kB16},
    {.name = "384 128x128 time, interleaved", .frames = 8, .height = 128, .width = 128, .c_in = 384,
     .c_out = 384, .window = kTime, .operands = kB16, .store = Conv3dStore::kFrameInterleave},
    {.name = "192 128x128 time down", .frames = 16, .height = 128, .width = 128, .c_in = 192,
     .c_out = 192, .window = kTimeDown, .operands = kB16},
};
// clang-format on

}  // namespace zoetrope::bench
