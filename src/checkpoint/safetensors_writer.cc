// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/writable_tensors.h"

namespace zoetrope {
namespace {

constexpr size_t kDataAlignment = 64;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  refuse_to_write(path, "safetensors", what);
}

void check_tensor(const std::string& path, const TensorInfo& tensor) {
  if (tensor.name == kSafetensorsMetadata) refuse(path, "a tensor cannot be called " + tensor.name);
  if (tensor.shape.size() <= kMaxSafetensorsAxes) return;
  refuse(path, fmt::format("{}: {} axes; at most {} fit", tensor.name, tensor.shape.size(),
                           kMaxSafetensorsAxes));
}

// Of a tensor that can be written as it lies in memory.
void check_view(const std::string& path, const NamedTensor& tensor) {
  const TensorView& view = tensor.tensor;
  const std::optional<int64_t> count = checked_element_count(view.shape);
  const bool strides_fit = view.strides.empty() || view.strides.size() == view.shape.size();
  if (!count || !strides_fit || !is_contiguous(view)) {
    refuse(path, fmt::format("{}: expected a contiguous tensor, found shape {} strides {}",
                             tensor.name, to_string(view.shape), to_string(view.strides)));
  }
  if (*count > 0 && view.data == nullptr) {
    refuse(path, fmt::format("{}: expected data, found a null pointer", tensor.name));
  }
}

nlohmann::ordered_json metadata_json(const std::string& path,
                                     const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json;
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      refuse(path, fmt::format("metadata {}: expected UTF-8", printable(key)));
    }
    json[key] = value;
  }
  return json;
}

// The header's length and text, padded so that the data starts at a multiple of 64.
std::string make_header(const std::string& path, const std::vector<TensorInfo>& tensors,
                        const std::vector<size_t>& sizes,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kSafetensorsMetadata] = metadata_json(path, metadata);
  size_t begin = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_tensor(path, tensors[i]);
    const size_t end = begin + sizes[i];
    header[tensors[i].name] = {{"dtype", safetensors_name_of(tensors[i].dtype)},
                               {"shape", tensors[i].shape},
                               {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  uint64_t length = 0;
  const size_t unpadded = sizeof(length) + text.size();
  text.append(aligned_size(unpadded, kDataAlignment) - unpadded, ' ');
  if (text.size() > kLongestSafetensorsHeader) {
    refuse(path, fmt::format("a header of {} bytes; at most {} fit", text.size(),
                             kLongestSafetensorsHeader));
  }
  length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<TensorInfo> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const WriteTensor& write) {
  const std::vector<size_t> sizes = prepare_tensors(path, "safetensors", tensors);
  const std::string header = make_header(path, tensors, sizes, metadata);
  FileWriter file(path);
  file.write(header);
  for (size_t i = 0; i < tensors.size(); ++i) write_aligned(file, 1, tensors[i], sizes[i], write);
  file.close();
}

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<TensorInfo> infos;
  std::map<std::string, const TensorView*> views;
  for (const NamedTensor& tensor : tensors) {
    check_view(path, tensor);
    infos.push_back({tensor.name, tensor.tensor.dtype, tensor.tensor.shape});
    views[tensor.name] = &tensor.tensor;
  }
  write_safetensors(
      path, std::move(infos), metadata, [&](const TensorInfo& tensor, FileWriter& file) {
        const int64_t count = *checked_element_count(tensor.shape);
        file.write(views.at(tensor.name)->data, static_cast<size_t>(count * size_of(tensor.dtype)));
      });
}

}  // namespace zoetrope
