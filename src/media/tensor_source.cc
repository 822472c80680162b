// SPDX-License-Identifier: Apache-2.0
#include "media/tensor_source.h"

#include <memory>

#include "base/fail.h"

namespace zoetrope::media {

std::shared_ptr<const SafetensorsFile> open_safetensors(const std::string& path) {
  try {
    return std::make_shared<const SafetensorsFile>(path);
  } catch (const Error& error) {
    fail(ErrorCode::kIo, "{}", error.what());
  }
}

TensorSource open_npy_tensor(const std::string& path) {
  const auto file = std::make_shared<const NpyFile>(path);
  return {path, file->dtype(), file->shape(), file->bytes(),
          [file](size_t offset, size_t size) { file->release(offset, size); }};
}

TensorSource safetensors_tensor(const std::shared_ptr<const SafetensorsFile>& file,
                                const std::string& name) {
  const SafetensorsEntry& entry = file->tensors().at(name);
  return {fmt::format("{}: tensor {}", file->path(), name), entry.dtype, entry.shape,
          file->bytes(entry), [file, &entry](size_t offset, size_t size) {
            file->release({entry.dtype, entry.shape, entry.offset + offset, size});
          }};
}

}  // namespace zoetrope::media
