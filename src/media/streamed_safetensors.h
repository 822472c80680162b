// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file whose data is written before its final shape is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zoetrope::media {

// A float32 tensor; its data follows that of the one before.
struct StreamedTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// The length and the JSON, filled up with spaces: always as long, a multiple of 64.
inline constexpr size_t kSafetensorsHeaderBytes = 2048;
std::string safetensors_header(const std::vector<StreamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace zoetrope::media
