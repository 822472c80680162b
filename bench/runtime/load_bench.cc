// SPDX-License-Identifier: Apache-2.0
// Time from weights to a model that can run:
//   load_bench WEIGHTS... [--device=NAME] [--dtype=TYPE] [--benchmark_OPTION...]
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "zoetrope/zoetrope.h"

namespace zoetrope::bench {
namespace {

void load(benchmark::State& state, const std::string& weights, const LoadOptions& options) {
  std::string packed;
  for (auto _ : state) {
    const Autoencoder model = Autoencoder::load(weights, options);
    packed = model.info().device;
  }
  state.SetLabel(packed);
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kDevice = "--device=";
  constexpr std::string_view kType = "--dtype=";
  LoadOptions options;
  std::vector<std::string> all;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kDevice)) {
      options.device = word.substr(kDevice.size());
    } else if (word.starts_with(kType)) {
      options.encode_dtype = options.decode_dtype = parse_dtype(word.substr(kType.size()));
    } else {
      all.emplace_back(word);
    }
  }
  for (const std::string& weights : all) {
    const std::string name = "load/" + weights.substr(weights.rfind('/') + 1);
    benchmark::RegisterBenchmark(name.c_str(), load, weights, options)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace zoetrope::bench

int main(int argc, char** argv) {
  try {
    return zoetrope::bench::run(argc, argv);
  } catch (const zoetrope::Error& error) {
    std::fprintf(stderr, "load_bench: %s\n", error.what());
    return 1;
  }
}
