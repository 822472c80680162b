// SPDX-License-Identifier: Apache-2.0
// The metadata of latent files: schema "zoetrope.latent", version 1.
#pragma once

#include <map>
#include <string>

#include "media/latent_file.h"

namespace zoetrope::media {

inline constexpr const char* kLatentSchema = "zoetrope.latent";
inline constexpr const char* kLatentTensor = "latent";
inline constexpr const char* kComfyTensor = "latent_tensor";
inline constexpr const char* kComfyVersion = "latent_format_version_0";

struct LatentRecord {
  LatentScale scale = LatentScale::kNormalized;
  LatentSource source;
};

std::map<std::string, std::string> latent_metadata(const LatentRecord& record);

// Throws kIo if a value cannot be right, kUnsupported for a later version.
LatentRecord parse_latent_metadata(const std::string& path,
                                   const std::map<std::string, std::string>& metadata);

}  // namespace zoetrope::media
