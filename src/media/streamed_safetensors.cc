// SPDX-License-Identifier: Apache-2.0
#include "media/streamed_safetensors.h"

#include <nlohmann/json.hpp>

#include "base/checked_math.h"
#include "base/fail.h"

namespace zoetrope::media {

std::string safetensors_header(const std::vector<StreamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::json json;  // sorts its keys
  if (!metadata.empty()) json["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const StreamedTensor& tensor : tensors) {
    const int64_t end = offset + 4 * checked_element_count(tensor.shape).value();
    json[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  constexpr size_t kLength = kSafetensorsHeaderBytes - 8;
  ZOETROPE_CHECK(text.size() <= kLength, fmt::format("{} bytes of header", text.size()));
  text.resize(kLength, ' ');
  std::string length(8, '\0');
  length[0] = static_cast<char>(kLength & 0xff);
  length[1] = static_cast<char>(kLength >> 8);
  return length + text;
}

}  // namespace zoetrope::media
