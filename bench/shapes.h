// SPDX-License-Identifier: Apache-2.0
// The shapes that kernels are measured on: those that cost the most in the Wan2.1 autoencoder at
// base_dim 96, and its odd ones. The only list.
#pragma once

#include <array>
#include <cstdint>

namespace zoetrope::bench {

struct ConvCase {
  const char* name;
  int64_t frames;
  int64_t size;  // height and width of the input
  int64_t c_in;
  int64_t c_out;
  std::array<int64_t, 3> kernel;  // time, height, width
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  int64_t pad_before = 0;
  int64_t first_tap = 0;
  bool epilogues = false;  // also measured with a norm and more
};

inline constexpr std::array kConvCases = {
    ConvCase{"96_3x3x3", 4, 128, 96, 96, {3, 3, 3}, 1, 1, 1, 0, true},
    ConvCase{"192_3x3x3", 4, 64, 192, 192, {3, 3, 3}, 1, 1, 1, 0, true},
    ConvCase{"384_3x3x3", 4, 32, 384, 384, {3, 3, 3}, 1, 1, 1, 0, true},
    ConvCase{"96_3x3x3_first", 1, 128, 96, 96, {3, 3, 3}, 1, 1, 1, 2},
    ConvCase{"3_to_96_3x3x3", 4, 128, 3, 96, {3, 3, 3}, 1, 1, 1},
    ConvCase{"96_to_3_3x3x3", 4, 128, 96, 3, {3, 3, 3}, 1, 1, 1},
    ConvCase{"16_to_384_3x3x3", 1, 32, 16, 384, {3, 3, 3}, 1, 1, 1},
    ConvCase{"192_to_96_1x3x3", 4, 128, 192, 96, {1, 3, 3}, 1, 1, 1},
    ConvCase{"96_1x3x3_down", 4, 128, 96, 96, {1, 3, 3}, 1, 2, 0},
    ConvCase{"384_3x1x1_down", 4, 32, 384, 384, {3, 1, 1}, 2, 1, 0},
    ConvCase{"384_to_768_3x1x1", 2, 32, 384, 768, {3, 1, 1}, 1, 1, 0},
    ConvCase{"192_to_384_1x1x1", 4, 64, 192, 384, {1, 1, 1}, 1, 1, 0},
    ConvCase{"32_3x3x3", 4, 128, 32, 32, {3, 3, 3}, 1, 1, 1},
    ConvCase{"384_3x3x3_small", 1, 8, 384, 384, {3, 3, 3}, 1, 1, 1},
};

struct AttentionCase {
  const char* name;
  int64_t frames;
  int64_t positions;
  int64_t channels;
};

inline constexpr std::array kAttentionCases = {
    AttentionCase{"384_1024", 1, 1024, 384},
    AttentionCase{"384_4096", 1, 4096, 384},
};

}  // namespace zoetrope::bench
