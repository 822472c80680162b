// SPDX-License-Identifier: Apache-2.0
// One tensor of a .npy or .safetensors file, mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "media/npy.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::media {

struct TensorSource {
  std::string name;  // for messages: the path, and the tensor's name if it has one
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  // Tells the system that bytes of `bytes` are not needed soon. Keeps the file mapped.
  std::function<void(size_t offset, size_t size)> release;
};

// What all values of a floating tensor are, read as float32.
struct ValueScan {
  float least = 0;         // 0 at most
  float largest = 0;       // 0 at least
  int64_t not_finite = 0;  // values that are NaN or infinite
  int64_t first = -1;      // index of the first of them
  float first_value = 0;
};

// `counts` tells whether a value that is not finite matters, by its index.
ValueScan scan_values(const TensorSource& source, const std::function<bool(int64_t)>& counts);

// Throws kIo, naming the first value that is not finite, if there are any.
void check_finite(const TensorSource& source, const ValueScan& scan);

// As SafetensorsFile, but with kIo for everything: these files are inputs, not weights.
std::shared_ptr<const SafetensorsFile> open_safetensors(const std::string& path);

TensorSource open_npy_tensor(const std::string& path);
TensorSource safetensors_tensor(const std::shared_ptr<const SafetensorsFile>& file,
                                const std::string& name);

}  // namespace zoetrope::media
