// SPDX-License-Identifier: Apache-2.0
// The host side of the Hopper convs: what needs no GPU.
#include "cuda/kernels/conv3d_sm90.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/dtype.h"
#include "cuda/kernels/conv3d_planes.h"

namespace zoetrope::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Where the products find operand (column, channel) of a tap: rows of `row_bytes`, 16-byte pieces
// exchanged by the address bits above them.
int64_t operand_at(int64_t column, int64_t channel, int64_t row_bytes) {
  const int64_t at = column * row_bytes + channel * 2;
  const int64_t piece = at / 16 % (row_bytes / 16);
  const int64_t pattern = at / 128 % (row_bytes / 16);
  return at - piece * 16 + (piece ^ pattern) * 16;
}

// A thread has columns 2 q and 2 q + 1 of every 8: filters 8 q to 8 q + 7 of every 32.
int64_t column_of(int64_t filter) {
  const int64_t q = filter % 32 / 8;
  return filter / 32 * 32 + filter % 8 / 2 * 8 + 2 * q + filter % 2;
}

std::vector<float> numbered(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % 2039);
  return values;
}

std::vector<std::byte> packed(const Conv3dSm90Weight& weight) {
  std::vector<std::byte> bytes(static_cast<size_t>(conv3d_sm90_packed_bytes(weight)));
  conv3d_sm90_pack(weight, bytes.data());
  return bytes;
}

TEST(Conv3dSm90Pack, PutsEachTapWhereAProductReadsIt) {
  const std::vector<float> values = numbered(96 * 96 * 27);
  const Conv3dSm90Weight weight = {.values = values.data(),
                                   .filters = 96,
                                   .c_in = 96,
                                   .kernel_time = 3,
                                   .kernel_height = 3,
                                   .kernel_width = 3};
  const std::vector<std::byte> bytes = packed(weight);
  ASSERT_EQ(bytes.size(), values.size() * 2);
  for (const int64_t filter : {0, 1, 7, 8, 31, 32, 95}) {
    for (const int64_t channel : {0, 1, 31, 32, 95}) {
      for (const int64_t tap : {0, 1, 13, 26}) {
        const int64_t stage = (tap / 9 * 3 + channel / 32) * 9 + tap % 9;  // time, chunk, tap
        const std::byte* at =
            bytes.data() + stage * 96 * 64 + operand_at(column_of(filter), channel % 32, 64);
        EXPECT_EQ(load_as_float(at, DType::kFloat16, 0),
                  values[static_cast<size_t>((filter * 96 + channel) * 27 + tap)])
            << filter << " " << channel << " " << tap;
      }
    }
  }
}

TEST(Conv3dSm90Pack, FillsChannelsUpToAChunkWithZero) {
  const std::vector<float> values(192 * 16, 1.0f);
  const std::vector<std::byte> bytes =
      packed({.values = values.data(), .filters = 192, .c_in = 16, .operands = DType::kBFloat16});
  ASSERT_EQ(bytes.size(), 192U * 32 * 2);
  double sum = 0;
  for (int64_t i = 0; i < 192 * 32; ++i) sum += load_as_float(bytes.data(), DType::kBFloat16, i);
  EXPECT_EQ(sum, 192 * 16);
}

TEST(Conv3dSm90Pack, FillsFiltersUpToEightWithZero) {
  const std::vector<float> values = numbered(3 * 32 * 9);
  const std::vector<std::byte> bytes = packed(
      {.values = values.data(), .filters = 3, .c_in = 32, .kernel_height = 3, .kernel_width = 3});
  ASSERT_EQ(bytes.size(), 9U * 8 * 32 * 2);
  for (const int64_t filter : {0, 2, 3, 7}) {
    const std::byte* at = bytes.data() + 4 * 8 * 64 + operand_at(filter, 31, 64);
    const float expected =
        filter < 3 ? values[static_cast<size_t>((filter * 32 + 31) * 9 + 4)] : 0.0f;
    EXPECT_EQ(load_as_float(at, DType::kFloat16, 0), expected) << filter;
  }
}

TEST(Conv3dSm90Pack, FoldsNeighbouringTapsOfPicturesIntoARow) {
  const std::vector<float> values = numbered(96 * 3 * 27);
  const std::vector<std::byte> bytes = packed({.values = values.data(),
                                               .filters = 96,
                                               .c_in = 3,
                                               .kernel_time = 3,
                                               .kernel_height = 3,
                                               .kernel_width = 3});
  ASSERT_EQ(bytes.size(), 96U * 9 * 32 * 2);
  for (const int64_t x : {0, 1, 2, 3}) {
    for (const int64_t channel : {0, 2, 3}) {
      const std::byte* at =
          bytes.data() + 5 * 96 * 64 + operand_at(column_of(9), x * 8 + channel, 64);
      const float expected = x < 3 && channel < 3
                                 ? values[static_cast<size_t>((9 * 3 + channel) * 27 + 5 * 3 + x)]
                                 : 0.0f;
      EXPECT_EQ(load_as_float(at, DType::kFloat16, 0), expected) << x << " " << channel;
    }
  }
}

TEST(Conv3dSm90Pack, HoldsPartsAndSharesOfFiltersOneAfterAnother) {
  const std::vector<float> values = numbered(2 * 384 * 64);
  const std::vector<std::byte> bytes =
      packed({.values = values.data(), .filters = 2 * 384, .c_in = 64, .parts = 2});
  for (const int64_t filter : {0, 191, 192, 383, 384, 767}) {
    const std::byte* at =
        bytes.data() + filter / 192 * 192 * 128 + operand_at(column_of(filter % 192), 5, 128);
    EXPECT_EQ(load_as_float(at, DType::kFloat16, 0), values[static_cast<size_t>(filter * 64 + 5)]);
  }
}

TEST(Conv3dPlanes, HoldEachTapOnce) {
  for (const int64_t stride : {1, 2}) {
    const std::vector<PlaneTaps> planes = planes_of(3, 3, stride);
    EXPECT_EQ(planes.size(), static_cast<size_t>(stride * stride));
    std::set<std::pair<int64_t, int64_t>> taps;
    for (const PlaneTaps& plane : planes) {
      for (const SpatialTap& tap : plane.taps) {
        EXPECT_EQ(tap.y % stride, plane.parity_y);
        EXPECT_EQ(tap.x % stride, plane.parity_x);
        EXPECT_TRUE(taps.emplace(tap.y, tap.x).second);
      }
    }
    EXPECT_EQ(taps.size(), 9U);
  }
}

TEST(Conv3dTile, CoversWithTheFewestTiles) {
  const Conv3dTile square =
      conv3d_tile(conv3d_cut({.filters = 192, .c_in = 96}), {4, 256, 256}, {3, 3});
  EXPECT_EQ(square.blocks_x * square.blocks_y, 4);
  EXPECT_EQ(square.blocks_x, 2);  // of equals, the smallest halo
  const Conv3dTile narrow =
      conv3d_tile(conv3d_cut({.filters = 384, .c_in = 96}), {4, 60, 104}, {3, 3});
  EXPECT_EQ(narrow.blocks_x, 1);  // 13 columns of 8
}

TEST(Conv3dTile, IsSmallerWhereADeviceWouldIdle) {
  const Conv3dCut cut = conv3d_cut({.filters = 384, .c_in = 384});
  const Conv3dTile one = conv3d_tile(cut, {1, 64, 64}, {3, 3});
  EXPECT_EQ(one.blocks_x * one.blocks_y, 2);
  const Conv3dTile many = conv3d_tile(cut, {3, 64, 64}, {3, 3});
  EXPECT_EQ(many.blocks_x * many.blocks_y, 4);
}

TEST(Conv3dCut, FillsNoChannelsWithZeroWhereChunksOf32Need) {
  EXPECT_EQ(conv3d_cut({.filters = 192, .c_in = 96}).chunk, 32);
  EXPECT_EQ(conv3d_cut({.filters = 192, .c_in = 192}).chunk, 64);
}

TEST(Conv3dTile, FitsInSharedMemory) {
  for (const int64_t filters : {3, 96, 192, 384}) {
    const Conv3dCut cut = conv3d_cut({.filters = filters, .c_in = 96});
    for (int64_t width = 1; width <= 900; width += 13) {
      for (const int64_t taps : {1, 2, 3}) {
        const Conv3dTile tile = conv3d_tile(cut, {1, 480, width}, {taps, taps});
        EXPECT_GE(tile.stages_a, 2);
        EXPECT_GE(tile.stages_b, 2);
        EXPECT_LE(tile.stages_a * conv3d_stage_a_bytes(cut, tile, {taps, taps}) +
                      tile.stages_b * conv3d_stage_b_bytes(cut, tile),
                  kConv3dStageBytes);
      }
    }
  }
}

Conv3dArgs plain() {
  static int memory;
  return {.operands = DType::kFloat16,
          .residual_type = DType::kBFloat16,
          .y_type = DType::kBFloat16,
          .activated_type = DType::kFloat16,
          .frames = 1,
          .height = 8,
          .width = 8,
          .c_in = 96,
          .y = &memory,
          .c_out = 96};
}

TEST(Conv3dSm90Refusal, IsEmptyForWhatItRuns) {
  EXPECT_THAT(conv3d_sm90_refusal(plain()), IsEmpty());
}

TEST(Conv3dSm90Refusal, SaysWhy) {
  Conv3dArgs args = plain();
  args.c_out = 128;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("128 output channels"));
  args = plain();
  args.c_out = 3;
  args.residual = args.y;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("so few output channels"));
  args = plain();
  args.c_in = 3;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("16 bytes"));
  args = plain();
  args.operands = DType::kFloat32;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("16 bits"));
  args = plain();
  args.residual = args.y;
  args.residual_type = DType::kFloat16;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("another type"));
  args = plain();
  args.stride_space = 2;
  args.pad_before = 1;
  EXPECT_THAT(conv3d_sm90_refusal(args), HasSubstr("padding"));
}

}  // namespace
}  // namespace zoetrope::cuda
