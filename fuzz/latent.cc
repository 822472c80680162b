// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "fuzz/hostile_file.h"
#include "media/latent_file.h"

namespace {

constexpr int64_t kLargestFrame = 1 << 20;  // values

void read_latents(const std::string& path) {
  const auto reader = zoetrope::media::open_latent_reader(path, {.any_value = true});
  const zoetrope::media::LatentInfo& info = reader->info();
  if (info.channels * info.height * info.width > kLargestFrame) return;
  std::vector<float> frame(static_cast<size_t>(info.channels * info.height * info.width));
  while (reader->read(1, frame.data()) > 0) {
  }
}

}  // namespace

ZOETROPE_FUZZ_TARGET(read_latents(zoetrope::fuzz::file_of(data, size)))
