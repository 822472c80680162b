// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format, versions 1 to 3: little-endian, C order, float64, float32, float16, uint8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::media {

// A mapped file whose header was checked against its size.
class NpyFile {
 public:
  // Throws kIo; kUnsupported for types and orders that are valid but not read here.
  explicit NpyFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  std::span<const std::byte> bytes() const { return file_.bytes().subspan(offset_, size_); }

  // Tells the system that these bytes of bytes() are not needed soon.
  void release(size_t offset, size_t size) const { file_.release(offset_ + offset, size); }

 private:
  MappedFile file_;
  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> shape_;
  size_t offset_ = 0;
  size_t size_ = 0;
};

// True if the file starts like .npy; false for anything else, also if it cannot be read.
bool looks_like_npy(const std::string& path);

// The bytes before the data: version 1.0, always kNpyHeaderBytes long, so that a header may be
// replaced when the final shape is known. At most 8 axes.
inline constexpr size_t kNpyHeaderBytes = 256;
std::string npy_header(DType dtype, std::span<const int64_t> shape);

}  // namespace zoetrope::media
