// SPDX-License-Identifier: Apache-2.0
// Times Hopper's attention, one head of 384 channels. tests/cuda/attention_test.cc checks it.
//
// usage: attention_bench [json]
#include <cstdio>
#include <string_view>

#include "bench/cuda/conv3d_check.h"
#include "bench/cuda/stopwatch.h"
#include "cuda/kernels/attention_sm90.h"

namespace zoetrope::bench {
namespace {

constexpr int64_t kChannels = 384;

struct Attention {
  const char* name;
  int64_t frames;
  int64_t positions;
  DType type;
};

constexpr Attention kAttentions[] = {
    {"attention 64x64, 21 frames", 21, 4096, DType::kBFloat16},
    {"attention 64x64, 21 frames, float16", 21, 4096, DType::kFloat16},
    {"attention 64x64, 2 frames", 2, 4096, DType::kBFloat16},
    {"attention 64x64, 1 frame", 1, 4096, DType::kBFloat16},
    {"attention 60x104, 21 frames", 21, 6240, DType::kBFloat16},
    {"attention 128x128, 1 frame", 1, 16384, DType::kBFloat16},
};

void time_one(const Attention& a, bool json) {
  const int64_t rows = a.frames * a.positions;
  DeviceArray qkv(rows * 3 * kChannels * 2);
  qkv.fill_random(a.type, 1.0F, 5);
  DeviceArray y(rows * kChannels * 2);
  const cuda::AttentionArgs args = {.operands = a.type,
                                    .qkv = qkv.data(),
                                    .frames = a.frames,
                                    .positions = a.positions,
                                    .channels = kChannels,
                                    .y = y.data()};
  const int warpgroups = cuda::attention_sm90_warpgroups(a.frames, a.positions);
  const LaunchOne launch = [&] {
    check(cuda::attention_sm90(args, warpgroups, nullptr), "attention_sm90");
  };
  const double milliseconds = median_milliseconds({launch}, 21).front();
  const double teraflops =
      4.0 * static_cast<double>(rows * a.positions * kChannels) / milliseconds * 1e-9;
  if (!json) {
    std::printf("%-38s %8.4f ms  %6.1f TFLOP/s\n", a.name, milliseconds, teraflops);
    return;
  }
  std::printf(R"({"name": "%s", "ms": %.4f, "TFLOP/s": %.1f, "type": "%s", "frames": %lld, )"
              R"("positions": %lld, "channels": %lld})"
              "\n",
              a.name, milliseconds, teraflops, a.type == DType::kFloat16 ? "float16" : "bfloat16",
              static_cast<long long>(a.frames), static_cast<long long>(a.positions),
              static_cast<long long>(kChannels));
}

}  // namespace
}  // namespace zoetrope::bench

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string_view(argv[1]) == "json";
  for (const auto& attention : zoetrope::bench::kAttentions) {
    zoetrope::bench::time_one(attention, json);
  }
  return 0;
}
