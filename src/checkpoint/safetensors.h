// SPDX-License-Identifier: Apache-2.0
// The safetensors container: a JSON header and the tensors' bytes, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {

// A tensor's place in a file's data.
struct SafetensorsEntry {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  size_t offset = 0;  // from the start of the file
  size_t size = 0;    // bytes
};

// A mapped file whose header was checked in full: sizes, types, shapes, no overlap, no hole.
class SafetensorsFile {
 public:
  // Throws kIo if the file cannot be opened, kCheckpoint if it is not valid safetensors.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, SafetensorsEntry>& tensors() const { return tensors_; }
  std::span<const std::byte> bytes(const SafetensorsEntry& entry) const {
    return file_.bytes().subspan(entry.offset, entry.size);
  }
  void release(const SafetensorsEntry& entry) const { file_.release(entry.offset, entry.size); }

 private:
  MappedFile file_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafetensorsEntry> tensors_;
};

// True if the file starts like safetensors; false for anything else, also if it cannot be read.
bool looks_like_safetensors(const std::string& path);

// Writes contiguous host tensors and metadata, sorted by name, the data starting at a multiple of
// 64: the same input gives the same bytes. Writes to `path` directly; give it a PendingOutput's
// temporary path. Throws kIo.
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace zoetrope
