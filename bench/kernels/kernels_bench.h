// SPDX-License-Identifier: Apache-2.0
// What the kernel benchmarks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "benchmark/benchmark.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::bench {

// Memory as the runtime gives it: 64-byte aligned.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(int64_t size);
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  int64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

// Values that `dtype` holds, and the same in memory of that type.
std::vector<float> random_values(DType dtype, int64_t size, uint64_t seed);
AlignedBytes stored(DType dtype, const std::vector<float>& values);

// One thread per core, or ZOETROPE_BENCH_THREADS.
ThreadPool& bench_pool();

double median(std::vector<double> values);

// "f32" or "bf16"
const char* short_name(DType dtype);

double seconds_of(const std::function<void()>& work);

struct Medians {
  double baseline_seconds = 0;
  double time_over_baseline = 0;
};

// Times `work`, `flops` of products and sums, in turns of at least some milliseconds, each preceded
// by a measurement of the peak for `operands`, so that the share holds on a machine that others use
// too. If there is a `baseline`, it runs once in each turn, after `work`. One iteration is all
// turns; its time is the median of one run of `work`. Counters, from medians: GFLOP/s, peak, share
// (of the peak).
Medians time_beside_peak(benchmark::State& state, DType operands, double flops,
                         const std::function<void()>& work,
                         const std::function<void()>& baseline = {});

void register_attention();
void register_conv3d();
void register_pointwise();

}  // namespace zoetrope::bench
