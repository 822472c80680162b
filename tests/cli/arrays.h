// SPDX-License-Identifier: Apache-2.0
// Files of arrays for the program to read, and what it wrote.
#pragma once

#include <cstring>
#include <string>

#include "checkpoint/safetensors.h"
#include "media/latent_file.h"
#include "media/npy.h"
#include "tests/base/scratch_folder.h"
#include "tests/support/golden.h"

namespace zoetrope::testing {

inline std::string data_file(const std::string& name) {
  return std::string(ZOETROPE_TEST_DATA) + "/golden/tiny/" + name;
}

inline void write_npy(const std::string& path, const Array& array) {
  std::ofstream file(path, std::ios::binary);
  file << media::npy_header(DType::kFloat32, array.shape);
  file.write(reinterpret_cast<const char*>(array.values.data()),
             static_cast<std::streamsize>(array.values.size() * sizeof(float)));
}

inline void write_tensor(const std::string& path, const std::string& name, Array array) {
  write_safetensors(path, {{name, array.view(), nullptr}}, {});
}

inline Array array_of(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) {
  Array array = Array::zeros(shape);
  EXPECT_EQ(bytes.size(), array.values.size() * sizeof(float));
  std::memcpy(array.values.data(), bytes.data(), bytes.size());
  return array;
}

inline Array read_npy(const std::string& path) {
  const media::NpyFile file(path);
  return array_of(file.bytes(), file.shape());
}

inline Array read_tensor(const std::string& path, const std::string& name) {
  const SafetensorsFile file(path);
  const SafetensorsEntry& entry = file.tensors().at(name);
  return array_of(file.bytes(entry), entry.shape);
}

}  // namespace zoetrope::testing
