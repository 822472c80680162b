// SPDX-License-Identifier: Apache-2.0
// The shapes that kernels are measured on: every distinct layer of the Wan2.1 autoencoder at
// base_dim 96 for a video of 128 x 128, with 4 frames at every depth, and a few odd ones. The only
// list.
#pragma once

#include <array>
#include <cstdint>

namespace zoetrope::bench {

// What becomes of a conv's sums; Conv3dStore has the details.
enum class ConvOutput : uint8_t { kPlain, kFrameInterleave, kUpsample };

struct ConvCase {
  const char* name;  // input channels, output channels, kernel (time, height, width), size
  int64_t size;      // height and width of the input
  int64_t c_in;
  int64_t c_out;                  // of the output: half as many as filters with kFrameInterleave
  std::array<int64_t, 3> kernel;  // time, height, width; kUpsample: of the conv after the upsample
  int64_t frames = 4;             // behind a full history
  int64_t stride_time = 1;
  int64_t stride_space = 1;
  ConvOutput output = ConvOutput::kPlain;
  int64_t first_tap = 0;
  bool epilogues = false;  // also measured with a norm and more
  int64_t c_shortcut = 0;  // and with a 1x1x1 shortcut from as many channels

  constexpr ConvCase with_epilogues(int64_t shortcut) const {
    ConvCase other = *this;
    other.epilogues = true;
    other.c_shortcut = shortcut;
    return other;
  }

  constexpr ConvCase with_strides(int64_t time, int64_t space) const {
    ConvCase other = *this;
    other.stride_time = time;
    other.stride_space = space;
    return other;
  }

  constexpr ConvCase into(ConvOutput store) const {
    ConvCase other = *this;
    other.output = store;
    return other;
  }

  constexpr ConvCase of_one_frame(int64_t tap) const {
    ConvCase other = *this;
    other.frames = 1;
    other.first_tap = tap;
    return other;
  }
};

inline constexpr std::array kConvCases = {
    // Residual blocks.
    ConvCase{"96_3x3x3_128px", 128, 96, 96, {3, 3, 3}}.with_epilogues(0),
    ConvCase{"192_3x3x3_64px", 64, 192, 192, {3, 3, 3}}.with_epilogues(96),
    ConvCase{"384_3x3x3_32px", 32, 384, 384, {3, 3, 3}}.with_epilogues(192),
    ConvCase{"384_3x3x3_16px", 16, 384, 384, {3, 3, 3}},
    ConvCase{"96_to_192_3x3x3_64px", 64, 96, 192, {3, 3, 3}},
    ConvCase{"192_to_384_3x3x3_32px", 32, 192, 384, {3, 3, 3}},
    ConvCase{"96_to_192_1x1x1_64px", 64, 96, 192, {1, 1, 1}},
    ConvCase{"192_to_384_1x1x1_32px", 32, 192, 384, {1, 1, 1}},
    // First and last layers.
    ConvCase{"3_to_96_3x3x3_128px", 128, 3, 96, {3, 3, 3}},
    ConvCase{"384_to_32_3x3x3_16px", 16, 384, 32, {3, 3, 3}},
    ConvCase{"32_1x1x1_16px", 16, 32, 32, {1, 1, 1}},
    ConvCase{"16_1x1x1_16px", 16, 16, 16, {1, 1, 1}},
    ConvCase{"16_to_384_3x3x3_16px", 16, 16, 384, {3, 3, 3}},
    ConvCase{"96_to_3_3x3x3_128px", 128, 96, 3, {3, 3, 3}},
    // Halve the size, then the frames.
    ConvCase{"96_1x3x3_128px_down", 128, 96, 96, {1, 3, 3}}.with_strides(1, 2),
    ConvCase{"192_1x3x3_64px_down", 64, 192, 192, {1, 3, 3}}.with_strides(1, 2),
    ConvCase{"384_1x3x3_32px_down", 32, 384, 384, {1, 3, 3}}.with_strides(1, 2),
    ConvCase{"192_3x1x1_32px_down", 32, 192, 192, {3, 1, 1}}.with_strides(2, 1),
    ConvCase{"384_3x1x1_16px_down", 16, 384, 384, {3, 1, 1}}.with_strides(2, 1),
    // Double the frames, then the size.
    ConvCase{"384_3x1x1_16px_frames", 16, 384, 384, {3, 1, 1}}.into(ConvOutput::kFrameInterleave),
    ConvCase{"384_3x1x1_32px_frames", 32, 384, 384, {3, 1, 1}}.into(ConvOutput::kFrameInterleave),
    ConvCase{"384_to_192_1x3x3_16px_up", 16, 384, 192, {1, 3, 3}}.into(ConvOutput::kUpsample),
    ConvCase{"384_to_192_1x3x3_32px_up", 32, 384, 192, {1, 3, 3}}.into(ConvOutput::kUpsample),
    ConvCase{"192_to_96_1x3x3_64px_up", 64, 192, 96, {1, 3, 3}}.into(ConvOutput::kUpsample),
    // Around attention.
    ConvCase{"384_to_1152_1x1x1_16px", 16, 384, 1152, {1, 1, 1}},
    ConvCase{"384_1x1x1_16px", 16, 384, 384, {1, 1, 1}},
    // Odd ones: the first step, one small frame, few channels.
    ConvCase{"96_3x3x3_128px_first", 128, 96, 96, {3, 3, 3}}.of_one_frame(2),
    ConvCase{"384_3x3x3_8px_one", 8, 384, 384, {3, 3, 3}}.of_one_frame(0),
    ConvCase{"32_3x3x3_128px", 128, 32, 32, {3, 3, 3}},
};

struct AttentionCase {
  const char* name;
  int64_t frames;
  int64_t positions;
  int64_t channels;
};

// Latents of 16 x 16, 32 x 32 and 64 x 64.
inline constexpr std::array kAttentionCases = {
    AttentionCase{"384_256", 4, 256, 384},
    AttentionCase{"384_1024", 1, 1024, 384},
    AttentionCase{"384_4096", 1, 4096, 384},
};

}  // namespace zoetrope::bench
