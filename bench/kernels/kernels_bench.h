// SPDX-License-Identifier: Apache-2.0
// What the kernel benchmarks share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "benchmark/benchmark.h"

namespace zoetrope::bench {

// Memory as the runtime gives it: 64-byte aligned.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t size);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  int64_t size_ = 0;
  std::unique_ptr<float[], Free> data_;
};

// Uniform in [-1, 1].
AlignedFloats random_floats(int64_t size, uint64_t seed);

// One thread per core, or ZOETROPE_BENCH_THREADS.
ThreadPool& bench_pool();

double median(std::vector<double> values);

// Sets the counters GFLOP/s, peak and share (of the peak) from the medians.
void report(benchmark::State& state, const std::vector<double>& gflops,
            const std::vector<double>& peaks);

void register_attention();
void register_conv3d();
void register_pointwise();

}  // namespace zoetrope::bench
