// SPDX-License-Identifier: Apache-2.0
// Times kernels at the clocks that a board holds under load.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "cuda/cuda_stream.h"

namespace zoetrope::bench {

using LaunchOne = std::function<void()>;  // into the default stream

class Stopwatch {
 public:
  // Of one launch among `launches`, one after another without a gap.
  double milliseconds(const LaunchOne& launch, int launches) {
    begin_.record(nullptr);
    for (int i = 0; i < launches; ++i) launch();
    end_.record(nullptr);
    return end_.seconds_since(begin_) * 1e3 / launches;
  }

 private:
  cuda::Event begin_{cuda::Event::Kind::kTimed};
  cuda::Event end_{cuda::Event::Kind::kTimed};
};

// Medians of rounds of 15 ms in which each has its turn; a second of the first one's work comes
// before, in which the board settles at its clocks.
inline std::vector<double> median_milliseconds(const std::vector<LaunchOne>& launches, int rounds) {
  Stopwatch watch;
  const double once = watch.milliseconds(launches.front(), 3);
  watch.milliseconds(launches.front(), static_cast<int>(1000 / once) + 1);
  const int at_a_time = static_cast<int>(15 / once) + 1;
  std::vector<std::vector<double>> times(launches.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < launches.size(); ++i) {
      times[i].push_back(watch.milliseconds(launches[i], at_a_time));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_launch : times) {
    std::ranges::sort(of_launch);
    medians.push_back(of_launch[of_launch.size() / 2]);
  }
  return medians;
}

}  // namespace zoetrope::bench
