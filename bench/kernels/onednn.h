// SPDX-License-Identifier: Apache-2.0
// oneDNN as a peer. Built from onednn.cc where the library was found, from onednn_absent.cc where
// it was not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernels/conv3d_problem.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::bench {

// A plain conv at its best: operands already in the layouts that the library prefers, the history
// already in front of the frames.
class OneDnnConv {
 public:
  virtual ~OneDnnConv() = default;
  virtual void run() = 0;
  virtual std::vector<float> y() = 0;  // of the last run, in Conv3dArgs' layout
};

// Null where there is no oneDNN, or where it has no such conv on this machine. `problem` is a
// plain_problem; `threads` counts for all that follows.
std::unique_ptr<OneDnnConv> make_onednn_conv(const Conv3dProblem& problem, DType dtype,
                                             int threads);

// "2.6.3", or "absent"
std::string onednn_version();

}  // namespace zoetrope::bench
