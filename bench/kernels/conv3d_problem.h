// SPDX-License-Identifier: Apache-2.0
// One conv of bench/shapes.h with values to run it on, and what it should give.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/shapes.h"
#include "cpu/kernels/conv3d.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::bench {

struct Conv3dProblem {
  cpu::Conv3dArgs args;        // sizes alone, pointers are null
  int64_t filters = 0;         // c_out for each part of the store map
  int64_t outputs = 0;         // elements of y
  std::vector<float> x;        // (frames, height, width, c_in)
  std::vector<float> history;  // (kernel_time - stride_time, height, width, c_in)
  std::vector<float> weight;   // (filters, c_in, kernel_time, kernel_height, kernel_width)
  std::vector<float> bias;
};

// As the compiler leaves the layer: an upsample is four 2x2 phases.
cpu::Conv3dArgs compiled_args(const ConvCase& shape);

// The same with values, which `dtype` holds.
Conv3dProblem compiled_problem(const ConvCase& shape, DType dtype);

// As a library of convs sees the same layer: a plain conv, over an upsampled input where there is
// an upsample, and without the taps that the first step skips.
Conv3dProblem plain_problem(const ConvCase& shape, DType dtype);

// Products and sums, one each.
double flops(const Conv3dProblem& problem);

// Largest error over 200 outputs, relative to what rounding of the sum and of y to `dtype` allows.
double worst_error(const Conv3dProblem& problem, DType dtype,
                   const std::function<double(int64_t index)>& y);

}  // namespace zoetrope::bench
