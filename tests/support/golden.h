// SPDX-License-Identifier: Apache-2.0
// Reference values of tests/data/golden.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope::testing {

// A float32 tensor that owns its values.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;

  static Array zeros(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return {std::move(shape), std::vector<float>(static_cast<size_t>(count))};
  }
  TensorView view() {
    return {.data = values.data(),
            .dtype = DType::kFloat32,
            .device = {},
            .shape = shape,
            .strides = {}};
  }
};

class GoldenFile {
 public:
  // `name` without folder and extension, e.g. "wan21_d96_t9_32x48".
  explicit GoldenFile(const std::string& name)
      : file_(std::string(ZOETROPE_TEST_DATA) + "/golden/" + name + ".safetensors") {}

  Array load(const std::string& name) const {
    const SafetensorsEntry& entry = file_.tensors().at(name);
    Array array = Array::zeros(entry.shape);
    std::memcpy(array.values.data(), file_.bytes(entry).data(), entry.size);
    return array;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : file_.tensors()) names.push_back(name);
    return names;
  }

 private:
  SafetensorsFile file_;
};

inline double rms(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Of the difference, over that of what was expected.
inline double rms_error(std::vector<float> found, const std::vector<float>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) found[i] -= expected[i];
  return rms(found) / rms(expected);
}

// What naive bfloat16 is off by: the unfused model with every op's result rounded.
inline double naive_rms(const std::string& file, const std::string& output) {
  std::ifstream stream(std::string(ZOETROPE_TEST_DATA) + "/golden/naive.json");
  const auto json = nlohmann::json::parse(stream);
  return json.at(file + ".safetensors").at("bf16").at(output).at("rms");
}

// Largest difference, relative to the largest expected value. NaN anywhere gives infinity.
inline double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  double largest = 0;
  double error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max<double>(largest, std::abs(expected[i]));
    const double difference = std::abs(double{found[i]} - double{expected[i]});
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
  }
  return found.size() == expected.size() ? error / largest : INFINITY;
}

// What "correct" means for float32: naive float32 is at 1e-6 to 3e-6 (golden/naive.json).
inline constexpr double kFloat32Tolerance = 1e-5;

}  // namespace zoetrope::testing
