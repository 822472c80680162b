// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/conv3d_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "bench/kernels/kernels_bench.h"
#include "tests/reference/conv3d.h"

namespace zoetrope::bench {
namespace {

Conv3dProblem with_values(const cpu::Conv3dArgs& args, int64_t parts, DType dtype) {
  const int64_t plane = args.height * args.width * args.c_in;
  const int64_t taps = args.kernel_time * args.kernel_height * args.kernel_width;
  const int64_t frames_out =
      args.frames / args.stride_time * (args.store == cpu::Conv3dStore::kFrameInterleave ? 2 : 1);
  Conv3dProblem problem;
  problem.args = args;
  problem.filters = parts * args.c_out;
  problem.outputs = frames_out * args.out_height * args.out_width * args.c_out;
  problem.x = random_values(dtype, args.frames * plane, 1);
  problem.history = random_values(dtype, (args.kernel_time - args.stride_time) * plane, 2);
  problem.weight = random_values(dtype, problem.filters * args.c_in * taps, 3);
  problem.bias = random_values(DType::kFloat32, problem.filters, 4);
  return problem;
}

cpu::Conv3dArgs plain_args(const ConvCase& shape) {
  const int64_t out = shape.size / shape.stride_space;
  return {.frames = shape.frames,
          .height = shape.size,
          .width = shape.size,
          .c_in = shape.c_in,
          .kernel_time = shape.kernel[0],
          .kernel_height = shape.kernel[1],
          .kernel_width = shape.kernel[2],
          .first_tap = shape.first_tap,
          .stride_time = shape.stride_time,
          .stride_space = shape.stride_space,
          .pad_before = shape.stride_space == 1 ? shape.kernel[1] / 2 : 0,
          .out_height = out,
          .out_width = out,
          .c_out = shape.c_out};
}

}  // namespace

cpu::Conv3dArgs compiled_args(const ConvCase& shape) {
  cpu::Conv3dArgs args = plain_args(shape);
  if (shape.output == ConvOutput::kFrameInterleave) {
    args.store = cpu::Conv3dStore::kFrameInterleave;
  }
  if (shape.output == ConvOutput::kUpsample) {
    args.store = cpu::Conv3dStore::kUpsamplePhases;
    args.kernel_height = args.kernel_width = 2;
    args.out_height = args.out_width = 2 * shape.size;
  }
  return args;
}

Conv3dProblem compiled_problem(const ConvCase& shape, DType dtype) {
  constexpr std::array<int64_t, 3> kParts = {1, 2, 4};  // of plain, interleave, upsample
  return with_values(compiled_args(shape), kParts[static_cast<size_t>(shape.output)], dtype);
}

Conv3dProblem plain_problem(const ConvCase& shape, DType dtype) {
  ConvCase plain = shape;
  plain.output = ConvOutput::kPlain;
  plain.kernel[0] -= shape.first_tap;
  plain.first_tap = 0;
  if (shape.output == ConvOutput::kFrameInterleave) plain.c_out *= 2;
  if (shape.output == ConvOutput::kUpsample) plain.size *= 2;
  return with_values(plain_args(plain), 1, dtype);
}

double flops(const Conv3dProblem& problem) {
  const cpu::Conv3dArgs& args = problem.args;
  const int64_t taps = (args.kernel_time - args.first_tap) * args.kernel_height * args.kernel_width;
  return 2.0 * static_cast<double>(problem.outputs * args.c_in * taps);
}

double worst_error(const Conv3dProblem& problem, DType dtype,
                   const std::function<double(int64_t index)>& y) {
  const cpu::Conv3dArgs& args = problem.args;
  const reference::ConvOperands operands = {.x = problem.x.data(),
                                            .history = problem.history.data(),
                                            .weight = problem.weight.data(),
                                            .bias = problem.bias.data()};
  std::mt19937_64 random(5);
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(problem.outputs));
    const int64_t pixel = index / args.c_out;
    const int64_t line = pixel / args.out_width;
    const reference::ConvValue expected =
        reference::conv3d(args, operands,
                          {line / args.out_height, line % args.out_height, pixel % args.out_width,
                           index % args.c_out});
    const double allowed = expected.magnitude * 64 * 0x1p-24 +
                           (dtype == DType::kBFloat16 ? std::abs(expected.value) * 0x1p-7 : 0.0);
    const double error = std::abs(y(index) - expected.value) / allowed;
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace zoetrope::bench
