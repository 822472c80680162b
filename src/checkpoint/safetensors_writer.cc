// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/tensor_name.h"

namespace zoetrope {
namespace {

constexpr size_t kDataAlignment = 64;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  fail(ErrorCode::kInvalidArgument, "{}: cannot write safetensors: {}", path, what);
}

// Bytes of a tensor that can be written as it lies in memory.
size_t checked_size(const std::string& path, const NamedTensor& tensor) {
  const TensorView& view = tensor.tensor;
  check_tensor_name(path, tensor.name);
  if (tensor.name == kSafetensorsMetadata) refuse(path, "a tensor cannot be called " + tensor.name);
  if (view.shape.size() > kMaxSafetensorsAxes) {
    refuse(path, fmt::format("{}: {} axes; at most {} fit", tensor.name, view.shape.size(),
                             kMaxSafetensorsAxes));
  }
  const std::optional<int64_t> count = checked_element_count(view.shape);
  const auto size = count ? checked_multiply(*count, size_of(view.dtype)) : std::nullopt;
  const bool strides_fit = view.strides.empty() || view.strides.size() == view.shape.size();
  if (!size || !strides_fit || !is_contiguous(view)) {
    refuse(path, fmt::format("{}: expected a contiguous tensor, found shape {} strides {}",
                             tensor.name, to_string(view.shape), to_string(view.strides)));
  }
  if (*size > 0 && view.data == nullptr) {
    refuse(path, fmt::format("{}: expected data, found a null pointer", tensor.name));
  }
  return static_cast<size_t>(*size);
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
std::string make_header(const std::string& path, const std::vector<const NamedTensor*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kSafetensorsMetadata] = metadata_json(path, metadata);
  size_t end = 0;
  for (const NamedTensor* tensor : tensors) {
    const size_t begin = end;
    if (__builtin_add_overflow(begin, checked_size(path, *tensor), &end)) {
      refuse(path, "the tensors are larger than any file");
    }
    header[tensor->name] = {{"dtype", safetensors_name_of(tensor->tensor.dtype)},
                            {"shape", tensor->tensor.shape},
                            {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  uint64_t length = 0;
  const size_t unpadded = sizeof(length) + text.size();
  text.append((kDataAlignment - unpadded % kDataAlignment) % kDataAlignment, ' ');
  if (text.size() > kLongestSafetensorsHeader) {
    refuse(path, fmt::format("a header of {} bytes; at most {} fit", text.size(),
                             kLongestSafetensorsHeader));
  }
  length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

class Output {
 public:
  explicit Output(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) refuse_with("cannot create");
  }

  void write(const void* data, size_t size) {
    if (size > 0 && std::fwrite(data, 1, size, file_.get()) != size) refuse_with("cannot write");
  }

  // The last bytes may be written only here, so it can fail like write().
  void close() {
    if (std::fclose(file_.release()) != 0) refuse_with("cannot write");
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void refuse_with(const char* what) const {
    fail(ErrorCode::kIo, "{}: {}: {}", path_, what, std::strerror(errno));
  }

  const std::string& path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedTensor*> sorted;
  sorted.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, {}, &NamedTensor::name);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &NamedTensor::name);
  if (twice != sorted.end()) refuse(path, printable((*twice)->name) + " stands twice");
  const std::string header = make_header(path, sorted, metadata);
  Output output(path);
  output.write(header.data(), header.size());
  for (const NamedTensor* tensor : sorted) {
    output.write(tensor->tensor.data, checked_size(path, *tensor));
  }
  output.close();
}

}  // namespace zoetrope
