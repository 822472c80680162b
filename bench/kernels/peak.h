// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most, measured beside the kernels.
#pragma once

#include "base/thread_pool.h"

namespace zoetrope::bench {

// Multiplications and additions per second, in 1e9, of all threads of `pool` over some
// milliseconds of independent float32 multiply-adds, with the best instruction set.
double measure_peak_gflops(ThreadPool& pool);

}  // namespace zoetrope::bench
