// SPDX-License-Identifier: Apache-2.0
// An array as a video and as latents.
#include "media/npy.h"
#include "fuzz/hostile_file.h"
#include "media/latent_file.h"

namespace {

void read_array(const std::string& path) {
  const zoetrope::media::NpyFile file(path);
  uint8_t sum = 0;
  for (const std::byte byte : file.bytes()) sum += static_cast<uint8_t>(byte);
  volatile uint8_t kept = sum;  // so that every byte is read
  static_cast<void>(kept);
  zoetrope::media::open_latent_reader(path, {});
}

}  // namespace

ZOETROPE_FUZZ_TARGET(read_array(zoetrope::fuzz::file_of(data, size)))
