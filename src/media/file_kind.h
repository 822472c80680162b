// SPDX-License-Identifier: Apache-2.0
// What a path on the command line stands for.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope::media {

enum class FileKind : uint8_t {
  kVideo,
  kImage,
  kImageFolder,
  kNpy,          // an array: of a video or of latents, which only its use tells
  kSafetensors,  // holding a video, or something else
  kLatent,       // safetensors that holds latents, or a .latent file
  kY4mPipe,      // "-"
};

// By content. Throws kIo if nothing is there or nothing here can read it.
FileKind classify_input(const std::string& path);

// By name: extension, trailing slash, or an existing folder. Latents: .safetensors, .npy, .latent.
// Throws kInvalidArgument, listing what exists, for any other name.
FileKind classify_video_output(const std::string& path);
FileKind classify_latent_output(const std::string& path);

}  // namespace zoetrope::media
