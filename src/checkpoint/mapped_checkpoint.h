// SPDX-License-Identifier: Apache-2.0
// A Checkpoint whose tensors lie in one mapped file, each in one piece.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"

namespace zoetrope {

// Formats in which tensors may share bytes let a small file describe terabytes; honest files share
// a few, as a model and its average do.
inline constexpr int64_t kMaxSharing = 16;

class MappedCheckpoint : public Checkpoint {
 protected:
  // Every element lies inside the file.
  struct Place {
    size_t offset = 0;  // of the first element, bytes from the start of the file
    size_t size = 0;    // bytes up to the end of the last element
    DType dtype = DType::kFloat32;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;  // in elements; empty: row-major
  };

  MappedCheckpoint(const std::string& path, std::string format)
      : Checkpoint(path, std::move(format)), file_(path) {}

  const MappedFile& file() const { return file_; }

  // To be called once. Throws as set_tensors().
  void set_places(const std::vector<std::pair<std::string, Place>>& places);

  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override;

 private:
  MappedFile file_;
  std::map<std::string, Place> places_;
};

}  // namespace zoetrope
