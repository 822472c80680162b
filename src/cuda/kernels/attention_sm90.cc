// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/attention_sm90.h"

#include <cmath>
#include <numbers>

#include "base/checked_math.h"
#include "cuda/kernels/attention_sm90_kernel.h"
#include "cuda/kernels/hopper.h"
#include "cuda/kernels/tensor_map.h"

namespace zoetrope::cuda {
namespace {

CopiedTensor rows_of(const AttentionArgs& args, int64_t rows) {
  const int64_t row_bytes = 3 * args.channels * 2;
  return {.data = args.qkv,
          .type = args.operands,
          .sizes = {3 * args.channels, args.positions, 1, 1, args.frames},
          .strides = {row_bytes, row_bytes, row_bytes, args.positions * row_bytes},
          .box = {kAttentionSm90Piece, rows, 1, 1, 1}};
}

int64_t blocks_of_frame(int64_t positions, int warpgroups) {
  return divide_up(positions, int64_t{warpgroups} * kAttentionSm90Queries);
}

// In which all blocks run.
int64_t rounds(int64_t frames, int64_t positions, int warpgroups) {
  return divide_up(frames * blocks_of_frame(positions, warpgroups), kHopperProcessors);
}

}  // namespace

std::string attention_sm90_refusal(DType operands, int64_t channels) {
  if (operands == DType::kFloat32) return "operands are not of 16 bits";
  if (channels == kAttentionSm90Channels) return "";
  return "a head of " + std::to_string(channels) + " channels; there is a kernel for " +
         std::to_string(kAttentionSm90Channels);
}

// Two warpgroups keep the matrix units busy under each other's softmax: both take 1.4 times as long
// as one alone.
int attention_sm90_warpgroups(int64_t frames, int64_t positions) {
  return 5 * rounds(frames, positions, 1) <= 7 * rounds(frames, positions, 2) ? 1 : 2;
}

cudaError_t attention_sm90(const AttentionArgs& args, int warpgroups, cudaStream_t stream) {
  AttentionSm90Params params = {};
  params.y = args.y;
  params.frames = static_cast<int32_t>(args.frames);
  params.positions = static_cast<int32_t>(args.positions);
  params.blocks = static_cast<int32_t>(blocks_of_frame(args.positions, warpgroups));
  params.scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(args.channels));
  cudaError_t error = encode_tensor_map(rows_of(args, kAttentionSm90Queries), params.queries);
  if (error == cudaSuccess) {
    error = encode_tensor_map(rows_of(args, kAttentionSm90Keys), params.keys);
  }
  if (error != cudaSuccess) return error;
  return start_attention_sm90(
      params,
      {.warpgroups = warpgroups, .half = args.operands == DType::kFloat16, .stream = stream});
}

}  // namespace zoetrope::cuda
