// SPDX-License-Identifier: Apache-2.0
// A stride-2 conv reads each parity of row and column as a plane of its own, in which its taps have
// stride 1. A stride-1 conv has one plane.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope::cuda {

struct SpatialTap {
  int64_t y;
  int64_t x;
};

struct PlaneTaps {
  int64_t parity_y = 0;
  int64_t parity_x = 0;
  std::vector<SpatialTap> taps = {};
};

// With taps, and in the order in which they are summed.
std::vector<PlaneTaps> planes_of(int64_t kernel_height, int64_t kernel_width, int64_t stride);

}  // namespace zoetrope::cuda
