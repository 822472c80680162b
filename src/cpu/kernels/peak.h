// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most, measured where the kernels run.
#pragma once

#include "base/thread_pool.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::cpu {

// Multiplications and additions per second, counted one each, of all threads of `pool` in loops of
// the best instruction for sums of products of `operands`, on registers alone; for bfloat16 that
// may be float32's. Medians of a few measurements that take `seconds` together.
double measure_peak_flops(DType operands, ThreadPool& pool, double seconds = 0.2);

// Bytes read plus bytes written per second while all threads copy memory beyond any cache's size.
double measure_copy_bandwidth(ThreadPool& pool);

}  // namespace zoetrope::cpu
